import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { mergeMembers } from "./json-members.js";

describe("mergeMembers", () => {
  it.each([
    ['{"a":1,"b":2}', '{"b":3,"c":4}', '{"a":1,"b":3,"c":4}'],
    ['{"a":1}', '{"a":null}', "{}"],
    ['{"a":null,"b":1}', '{"b":2}', '{"a":null,"b":2}'],
    [
      ' { "a" : 1.50 , "\\u0062":"\\/", "a":12345678901234567890 } ',
      '{"c":1}',
      '{"a" : 1.50,"\\u0062":"\\/","a":12345678901234567890,"c":1}',
    ],
    ['{"a":1,"x":0,"a":2}', '{"\\u0061":3,"d":1,"d":2}', '{"a":3,"x":0,"d":2}'],
    ["{}", "{}", "{}"],
    ['{"a":{"b":1}}', '{"a":{"c":2}}', '{"a":{"c":2}}'],
  ])("of %s and %s is %s", (base, changes, expected) => {
    expect(mergeMembers(base, changes)).toBe(expected);
  });

  it("is what assigning the members gives, for any objects", () => {
    const object = fc.dictionary(fc.constantFrom("a", "b", "c", '"', "\\", "é", ""), fc.jsonValue());
    fc.assert(
      fc.property(object, object, fc.integer({ min: 0, max: 2 }), (base, changes, indent) => {
        const expected: Record<string, unknown> = { ...base, ...changes };
        for (const key of Object.keys(changes)) if (changes[key] === null) delete expected[key];
        const merged = mergeMembers(JSON.stringify(base, null, indent), JSON.stringify(changes, null, indent));
        expect(JSON.parse(merged)).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
    );
  });
});
