import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { childrenOf, type JsonValue, rootOf, textOf, tokenOf } from "./json.js";

/** Every token in order, as a tree with all nodes open shows it. */
function tokens(text: string, value: JsonValue): string {
  if (value.type !== "object" && value.type !== "array") return tokenOf(text, value);
  const items = childrenOf(text, value).map((child) => {
    const token = tokens(text, child);
    return child.key === undefined ? token : `${child.key}:${token}`;
  });
  return value.type === "object" ? `{${items.join()}}` : `[${items.join()}]`;
}

function shown(text: string): string | undefined {
  const root = rootOf(text);
  return root && tokens(text, root);
}

describe("the scanner", () => {
  it("gives any JSON back, whatever its white space", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 4, "\t", "\r\n"), (value, space) => {
        expect(shown(JSON.stringify(value, null, space))).toBe(JSON.stringify(value));
        expect(shown(` \n${JSON.stringify(value, null, space)}\t`)).toBe(JSON.stringify(value));
      }),
    );
  });

  it("keeps digits, doubled keys and escapes as sent", () => {
    const text = '{"n":12345678901234567890,"f":1.10,"n":-0,"e":1E+02,"\\u0061":"\\ud800\\/","":[[],{}]}';
    expect(shown(text)).toBe(text);
  });

  it("gives strings of any signs back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        expect(textOf(JSON.stringify(value))).toBe(value);
        expect(shown(JSON.stringify([value]))).toBe(JSON.stringify([value]));
      }),
    );
  });

  it("ends for any text", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[[\]{}",:\\a1 -]*$/), (text) => {
        const root = rootOf(text);
        if (root) tokens(text, root);
      }),
    );
  });

  it("takes 100,000 levels", () => {
    const text = "[".repeat(100_000) + "]".repeat(100_000);
    expect(rootOf(text)).toEqual({ type: "array", start: 0, end: 200_000 });
  });

  it("refuses a text that was cut", () => {
    expect(rootOf('{"a":[1,2')).toBeUndefined();
    expect(rootOf('"abc')).toBeUndefined();
    expect(rootOf("")).toBeUndefined();
  });
});
