import { describe, expect, it } from "@jest/globals";
import { byteLength } from "./texts.js";
import { toJsonText, toObjectText } from "./values.js";

const read = (value: unknown): unknown => JSON.parse(toJsonText(value) ?? "undefined");

describe("a value", () => {
  it("that JSON has stays as it is", () => {
    for (const value of [null, true, 1, -0.5, "ä€😀\0", [1, [2]], { a: { b: null } }])
      expect(read(value)).toEqual(value);
    expect(toJsonText({ a: undefined, b: [undefined, () => 1] })).toBe('{"b":[null,null]}');
    for (const value of [undefined, () => 1, Symbol("x")]) expect(toJsonText(value)).toBeUndefined();
    expect(toObjectText([1])).toBeUndefined();
  });

  it("that JSON lacks is told in its place", () => {
    expect(toJsonText({ n: 12345678901234567890n, m: 10n ** 400n })).toBe(
      '{"n":12345678901234567890,"m":"[an integer of 401 digits]"}',
    );
    expect(read([Number.NaN, -Infinity])).toEqual(["NaN", "-Infinity"]);
    const map = new Map<unknown, unknown>([
      ["a", 1],
      [2, new Set([3])],
    ]);
    expect(read({ map, when: new Date(0), bad: new Date(Number.NaN) })).toEqual({
      map: { a: 1, 2: [3] },
      when: "1970-01-01T00:00:00.000Z",
      bad: "Invalid Date",
    });
    expect(read([Buffer.from("text"), new Uint8Array([255, 0])])).toEqual(["text", "base64:/wA="]);
    expect(read([new URL("http://a/b"), /x/g, new Headers({ a: "b" })])).toEqual(["http://a/b", "/x/g", { a: "b" }]);
    expect(read([new ReadableStream(), Promise.resolve(1)])).toEqual(["[ReadableStream]", "[Promise]"]);
  });

  it("keeps class, message, stack and causes of errors", () => {
    const error = Object.assign(new TypeError("no", { cause: new RangeError("why") }), { code: "E1" });
    expect(read({ error })).toMatchObject({
      error: {
        name: "TypeError",
        message: "no",
        code: "E1",
        stack: expect.stringContaining("values.test"),
        cause: { name: "RangeError", message: "why" },
      },
    });
  });

  it("with circles and depth ends, and a value that is there twice is written twice", () => {
    const circle: Record<string, unknown> = { name: "a" };
    circle["self"] = [circle];
    expect(read(circle)).toEqual({ name: "a", self: ["[circular]"] });
    const shared = { a: 1 };
    expect(read([shared, shared])).toEqual([shared, shared]);
    let deep: unknown = 1;
    for (let level = 0; level < 5_000; level++) deep = [deep];
    expect(toJsonText(deep)).toBe(`${"[".repeat(100)}"[too deep]"${"]".repeat(100)}`);
    expect(read({ toJSON: () => circle })).toMatchObject({ name: "a" });
  });

  it("that throws is told where it does, and takes nothing else along", () => {
    const value = {
      good: 1,
      get bad(): never {
        throw new Error("no entry");
      },
      worse: {
        toJSON: () => {
          throw new Error("no form");
        },
      },
    };
    expect(read(value)).toEqual({ good: 1, bad: "[no JSON: no entry]", worse: "[no JSON: no form]" });
  });

  it("has half characters as U+FFFD; texts that look like escapes stay", () => {
    expect(read({ a: "\ud83d", c: "😀", d: "\\ud83d", "e\udc00": 1 })).toEqual({
      a: "\ufffd",
      c: "😀",
      d: "\\ud83d",
      "e\ufffd": 1,
    });
  });
});

describe("a value of more than a megabyte", () => {
  it.each([
    ["a text", "x".repeat(5_000_000)],
    ["of escapes", "\0".repeat(3_000_000)],
    ["wide characters", "€".repeat(3_000_000)],
    ["of a list", Array.from({ length: 300_000 }, (_, n) => ({ n, text: "ä\\" }))],
    ["of members", Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`${n}`, "y".repeat(90)]))],
    ["of bytes", new Uint8Array(5_000_000).fill(200)],
    ["of names", { ["k".repeat(3_000_000)]: 1 }],
  ])("is cut: %s", (_, value) => {
    const text = toJsonText(value) ?? "";
    expect(byteLength(text)).toBeLessThanOrEqual(1_000_000);
    expect(byteLength(text)).toBeGreaterThan(200_000);
    expect(text).toContain("[cut");
    JSON.parse(text);
  });

  it("keeps what comes before the cut, in its form", () => {
    const value = { question: "why?", document: "z".repeat(2_000_000), after: 1 };
    expect(read(value)).toMatchObject({
      question: "why?",
      document: expect.stringMatching(/z… \[cut: 2000000 characters in all\]$/),
    });
  });
});
