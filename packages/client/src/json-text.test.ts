import { expect, it } from "@jest/globals";
import { byteLength, messageOf, toJsonText, toName, toText } from "./json-text.js";

it("half characters become U+FFFD, and whole ones and texts that look like escapes stay", () => {
  const value = { a: "\ud83d", b: "\udc00\ud83d\ud83d", c: "😀", d: "\\ud83d", e: "\\\\\ud83d" };
  expect(JSON.parse(toJsonText(value) ?? "")).toEqual({
    a: "\ufffd",
    b: "\ufffd\ufffd\ufffd",
    c: "😀",
    d: "\\ud83d",
    e: "\\\\\ufffd",
  });
});

it("a value that is no JSON is replaced by the reason", () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  for (const value of [cycle, 1n, { toJSON: () => cycle }]) expect(toJsonText(value)).toMatch(/^"\[no JSON: /);
  for (const value of [undefined, () => 1, Symbol("x")]) expect(toJsonText(value)).toBeUndefined();
  expect(toJsonText(null)).toBe("null");
});

it("names and messages are made so that the service takes them", () => {
  expect(toName("")).toBe("(no name)");
  expect(toName(`${"x".repeat(999)}😀`)).toBe(`${"x".repeat(999)}\ufffd`);
  expect(toText("a\0b\ud800")).toBe("a\ufffdb\ufffd");
  expect(messageOf(new TypeError(""))).toBe("TypeError");
  expect(messageOf({ toString: () => ({}) })).toBe("something without a message was thrown");
});

it("sizes are those of UTF-8", () => {
  expect([undefined, "a", "ä", "€", "😀"].map(byteLength)).toEqual([0, 1, 2, 3, 4]);
});
