import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { layOutJson } from "./json-members.js";

describe("layOutJson", () => {
  it("keeps numbers, strings and doubled keys", () => {
    const text = String.raw`{ "n" : [ 12345678901234567890 , 1e400, 1.10 ],"n":-0.0,"t":"\\\" , {\u0041", "e": { } }`;
    expect(layOutJson(text)).toBe(
      String.raw`{"n":[12345678901234567890,1e400,1.10],"n":-0.0,"t":"\\\" , {\u0041","e":{}}`,
    );
    expect(layOutJson('[1.10,[ ],{"a":[0]}]', 2)).toBe('[\n  1.10,\n  [],\n  {\n    "a": [\n      0\n    ]\n  }\n]');
  });

  it("writes as JSON.stringify does, with an indent and without", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const indent of [0, 2]) {
          for (const space of [0, 3]) {
            expect(layOutJson(JSON.stringify(value, null, space), indent)).toBe(JSON.stringify(value, null, indent));
          }
        }
      }),
    );
  });
});
