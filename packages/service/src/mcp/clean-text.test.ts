import { describe, expect, it } from "@jest/globals";
import { cleanJson, relativeTime, withRelativeTimes } from "./tool.js";

const seen = (text: string) => text.replace(/[^\P{Cc}\n\t]|[\p{Bidi_Control}\u2028\u2029]|[\u{E0000}-\u{E007F}]/gu, "");

/** JSON with each character of its strings as an escape. */
const escaped = (value: unknown) =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);

describe("cleanJson", () => {
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

  it("keeps JSON whole", () => {
    const parts = ["\\", '"', "\u202e", "\u0007", "u202e", "\n", "\u2066", "\r", "a"];
    for (let n = 0; n < 500; n++) {
      const text = Array.from({ length: 12 }, (_, at) => parts[(n * (at + 3) * 7 + at * n) % parts.length]).join("");
      expect(JSON.parse(cleanJson(JSON.stringify([text])))).toEqual([seen(text)]);
      const json = escaped([text]);
      expect(JSON.parse(cleanJson(json))).toEqual([seen(text)]);
    }
  });
});

describe("withRelativeTimes", () => {
  const now = new Date("2026-06-01T12:00:00.000Z");

  it("tells times as people do, on both sides of now", () => {
    for (const [time, text] of [
      ["2026-06-01T11:59:59.800Z", "now"],
      ["2026-06-01T11:59:59.000Z", "1 second ago"],
      ["2026-06-01T09:00:00Z", "3 hours ago"],
      ["2026-05-20T12:00:00.123456Z", "12 days ago"],
      ["2020-01-01T00:00:00Z", "6 years ago"],
      ["2026-06-01T12:05:00Z", "in 5 minutes"],
    ] as const)
      expect([time, relativeTime(time, now)]).toEqual([time, text]);
  });

  it("adds members beside members, and leaves texts that look like one", () => {
    const value = { started_at: "2026-06-01T11:00:00.000Z", ended_at: null, text: '"x_at":"2026-06-01T11:00:00Z"' };
    expect(JSON.parse(withRelativeTimes(JSON.stringify(value), now))).toEqual({ ...value, started_ago: "1 hour ago" });
  });
});
