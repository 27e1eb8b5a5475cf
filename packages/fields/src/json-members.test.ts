import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { jsonDepth, jsonElements, jsonMembers } from "./json-members.js";

describe("jsonMembers", () => {
  it("keeps what parsing would alter", () => {
    const text = '{ "metadata" : {"big":12345678901234567890, "2":1,"1":2,"a":1,"a":2,"z":1e400} , "name":"x"}';
    expect(jsonMembers(text, ["metadata"]).get("metadata")).toBe(
      '{"big":12345678901234567890, "2":1,"1":2,"a":1,"a":2,"z":1e400}',
    );
  });

  it("takes the last of a doubled key, and keys written with escapes", () => {
    expect(jsonMembers('{"input":1,"\\u0069nput":2}', ["input"]).get("input")).toBe("2");
  });

  it("reads past braces, commas and quotes inside strings", () => {
    const text = '{"a":"},{\\"","input":["\\\\",{"b":"]"}],"output":"\\\\\\""}';
    const members = jsonMembers(text, ["input", "output"]);
    expect(members.get("input")).toBe('["\\\\",{"b":"]"}]');
    expect(members.get("output")).toBe('"\\\\\\""');
  });

  it("gives each member's own JSON, whatever the object", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 0, max: 4 }), (object, indent) => {
        const text = JSON.stringify(object, null, indent);
        const members = jsonMembers(text, Object.keys(object));
        for (const [key, value] of Object.entries(JSON.parse(text) as object)) {
          expect(JSON.parse(members.get(key) ?? "")).toEqual(value);
        }
      }),
    );
  });
});

describe("jsonElements", () => {
  it.each([
    ["[]", []],
    [" [ \n] ", []],
    ['[""]', ['""']],
    ['[ 1e400 ,{"a":[1,2],"b":"],"} ,"\\"]",[[]] ]', ["1e400", '{"a":[1,2],"b":"],"}', '"\\"]"', "[[]]"]],
  ])("of %s are %j", (text, elements) => {
    expect(jsonElements(text)).toEqual(elements);
  });

  it("are each element's own JSON, whatever the array", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.integer({ min: 0, max: 4 }), (array, indent) => {
        const text = JSON.stringify(array, null, indent);
        expect(jsonElements(text).map((element) => JSON.parse(element))).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe("jsonDepth", () => {
  it.each([
    ["1", 0],
    ["{}", 1],
    ['{"a":[{}]}', 3],
    ['["[[[["]', 1],
    ['["\\"[[["]', 1],
    ["[[[", 3],
    ['["unclosed', 1],
  ])("of %s is %i", (text, depth) => {
    expect(jsonDepth(text)).toBe(depth);
  });

  it("reads a hundred thousand levels", () => {
    expect(jsonDepth("[".repeat(100_000))).toBe(100_000);
  });
});
