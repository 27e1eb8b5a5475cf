import { describe, expect, it } from "@jest/globals";
import { cleanBody } from "./tool.js";

const cleanJson = (text: string) => cleanBody(text) as string;

const seen = (text: string) => text.replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]|[\u{E0000}-\u{E007F}]/gu, "");

/** JSON with each character of its strings as an escape. */
const escaped = (value: unknown) =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);

async function inChunks(text: string, size: number): Promise<string> {
  async function* chunks() {
    for (let i = 0; i < text.length; i += size) yield text.slice(i, i + size);
  }
  let whole = "";
  for await (const chunk of cleanBody(chunks()) as AsyncIterable<string>) whole += chunk;
  return whole;
}

describe("cleanBody", () => {
  it("takes out controls and bidirectional characters, raw and escaped, and leaves line feeds and tabs", () => {
    const text = "a\u0000b\u001b[31m\u202egnp\u2066.\u200f\u007f\u009b\r\n\t\b\f\u2028Ω🏁";
    const clean = "ab[31mgnp.\n\tΩ🏁";
    for (const json of [JSON.stringify({ text }), escaped({ text })])
      expect(JSON.parse(cleanJson(json))).toEqual({ text: clean });
    expect(JSON.parse(cleanJson(JSON.stringify("x\u{E0041}\u{E007F}y")))).toBe("xy");
  });

  it("leaves text that only looks like an escape, and numbers, digit by digit", () => {
    const json = String.raw`{"a":"\\u202e \\\\r \"\/ \u00e9","n":12345678901234567890, "e":1e400}`;
    expect(cleanJson(json)).toBe(json);
  });

  it("keeps JSON whole, however its chunks are cut", async () => {
    const parts = ["\\", '"', "\u202e", "\u0007", "u202e", "\n", "\u2066", "\r", "a"];
    for (let n = 0; n < 500; n++) {
      const text = Array.from({ length: 12 }, (_, at) => parts[(n * (at + 3) * 7 + at * n) % parts.length]).join("");
      expect(JSON.parse(cleanJson(JSON.stringify([text])))).toEqual([seen(text)]);
      const json = escaped([text]);
      expect(JSON.parse(cleanJson(json))).toEqual([seen(text)]);
      expect(await inChunks(json, 1 + (n % 9))).toBe(cleanJson(json));
    }
  });
});
