import { describe, expect, it, jest } from "@jest/globals";
import { randomRuns, resultOf } from "@waymark/testing";
import fc from "fast-check";
import { findRepeatedMember, hasManyKeys, jsonElementMembers, jsonMembers, jsonShape } from "./json-members.js";

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

describe("jsonElementMembers", () => {
  const find = (text: string, most = 100) => {
    const found = jsonElementMembers(text, "a", ["x", "y"], most);
    return typeof found === "string" ? found : found.map((members) => members && Object.fromEntries(members));
  };

  it.each([
    ["{}", []],
    ['{"b":[{"x":1}],"a":{"x":1}}', []],
    ['{ "a" : [\n] }', []],
    [
      '{"b":"\\"a\\":[","a":[{"x":1e400} , 7,"]",[{"x":1}],null, { "y" : "}," ,"z":{"x":1}, "x":[ {} ] } , {} ],"c":[{"x":1}]}',
      [{ x: "1e400" }, undefined, undefined, undefined, undefined, { x: "[ {} ]", y: '"},"' }, {}],
    ],
    ['{"\\u0061":[{"\\u0079":3,"y":4}]}', [{ y: "4" }]],
    ['{"a":1,"b":2,"\\u0061":[]}', "repeated"],
  ])("of %s are %j", (text, elements) => {
    expect(find(text)).toEqual(elements);
  });

  it("are none of a repeated list or one that is longer than wanted, and elements beyond are not looked at", () => {
    const list = `[${'{"x":1},'.repeat(5_000)}{"x":2}]`;
    const slice = jest.spyOn(String.prototype, "trim");
    expect(find(`{"a":${list}}`, 10)).toBe("too_long");
    expect(slice).toHaveBeenCalledTimes(10);
    expect(find(`{"a":[{"x":1}],"a":${list}}`, 10)).toBe("repeated");
    expect(slice).toHaveBeenCalledTimes(11);
    slice.mockRestore();
    expect(find('{"a":[{"x":1},{"x":2}]}', 2)).toHaveLength(2);
    expect(find('{"a":[{"x":1},{"x":2},3]}', 2)).toBe("too_long");
  });

  it("are looked for in any text", () => {
    const parts = fc.constantFrom('"a"', '"x"', '"\\q"', '"', ":", ",", "{", "}", "[", "]", "1", " ", "\\", '{"a":[');
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 30 }), (texts) => void find(texts.join(""))),
      randomRuns(1_000),
    );
  });

  it("are each element's own JSON, whatever the list", () => {
    const element = fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.oneof(fc.constantFrom("x", "y", '"', "\\"), fc.string()), fc.jsonValue()),
    );
    fc.assert(
      fc.property(fc.array(element), fc.jsonValue(), fc.integer({ min: 0, max: 4 }), (list, other, indent) => {
        const text = JSON.stringify({ b: other, a: list, c: other }, null, indent);
        const expected = (JSON.parse(text).a as unknown[]).map((each) => {
          if (typeof each !== "object" || each === null || Array.isArray(each)) return undefined;
          return Object.fromEntries(Object.entries(each).filter(([key]) => ["x", "y"].includes(key)));
        });
        const found = jsonElementMembers(text, "a", ["x", "y"], 100);
        if (typeof found === "string") throw new Error(found);
        const members = found.map(
          (each) => each && Object.fromEntries(each.map(([key, json]) => [key, JSON.parse(json)])),
        );
        expect(members).toEqual(expected);
      }),
      randomRuns(300),
    );
  });
});

describe("jsonShape", () => {
  it.each([
    ["1", 0],
    ["{}", 1],
    ['{"a":[{}]}', 3],
    ['["[[[["]', 1],
    ['["\\"[[["]', 1],
    ["[[[", 3],
    ['["unclosed', 1],
  ])("of %s is %i", (text, depth) => {
    expect(resultOf(jsonShape(Buffer.from(text))).depth).toBe(depth);
  });

  it("reads a hundred thousand levels", () => {
    expect(resultOf(jsonShape(Buffer.alloc(100_000, "["))).depth).toBe(100_000);
  });

  it("yields every 131,072 bytes", () => {
    expect([...jsonShape(Buffer.alloc(1_048_576, "["))]).toHaveLength(7);
  });
});

describe("hasManyKeys", () => {
  it.each([
    ['{"a":1,"b":{"a":[{"b":"c:"}]}}', 2, false],
    ['{"a":1,"b" :{"c":1}}', 2, true],
    ["[]", 0, false],
  ])("of %s, more than %i: %s", (text, most, expected) => {
    expect(hasManyKeys(text, most).next()).toEqual({ done: true, value: expected });
  });

  it("yields every five thousand members", () => {
    expect([...hasManyKeys(`[${'{"a":1},'.repeat(20_000)}1]`, 1)]).toHaveLength(4);
  });
});

describe("findRepeatedMember", () => {
  const find = (text: string) => resultOf(findRepeatedMember(text));

  it.each([
    ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":"a"}]}', undefined],
    ['{"a":"\\"a\\":1","b":["a","a"]}', undefined],
    ['{"a":1,"b":2,"a" :3}', "a"],
    ['[{"b":{"\\u0061":1,"a":2}}]', "a"],
    ['{"":1,"":2}', ""],
    ['{"\\"":1,"\\\\":2}', undefined],
    ['{"\\"":1,"\\"":2}', '"'],
  ])("of %s is %s", (text, key) => {
    expect(find(text)).toBe(key);
  });

  it("finds one exactly where parsing loses a member, and counts all", () => {
    // No key with an escape: after objects of one shape, JSON.parse of Node 24.21 can read the key "\"" as "\\".
    const key = fc.constantFrom("a", "b", "c", "d:", "{");
    const { value } = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        fc.constantFrom("1", '"a:{"', "null"),
        fc.array(tie("value"), { maxLength: 3 }).map((values) => `[${values.join(",")}]`),
        fc
          .array(fc.tuple(key, tie("value")), { maxLength: 3 })
          .map((members) => `{${members.map(([name, each]) => `${JSON.stringify(name)}: ${each}`).join(" ,")}}`),
      ),
    }));
    fc.assert(
      fc.property(value, (text) => {
        let kept = 0;
        JSON.parse(text, function (this: unknown, name, each) {
          if (name !== "" && !Array.isArray(this)) kept++;
          return each;
        });
        expect(find(text) !== undefined).toBe(resultOf(jsonShape(Buffer.from(text))).members > kept);
      }),
    );
  });

  it("yields at least every five thousand members", () => {
    const text = `{${Array.from({ length: 20_000 }, (_, n) => `"${n}":0`).join(",")}}`;
    expect([...findRepeatedMember(text)]).toHaveLength(4);
  });
});
