import { expect, it } from "@jest/globals";
import { byteLength, describeThrown, messageOf, toName, toText } from "./texts.js";

it("names are made so that the service takes them", () => {
  expect(toName("")).toBe("(no name)");
  expect(toName(`${"x".repeat(999)}😀`)).toBe(`${"x".repeat(999)}\ufffd`);
  expect(toText("a\0b\ud800")).toBe("a\ufffdb\ufffd");
  expect(messageOf(new TypeError(""))).toBe("TypeError");
  expect(toText({ toString: () => ({}) })).toBe("[a value without a text]");
});

it("a thrown error has its class, message and causes, and its stack as an attribute", () => {
  class CardError extends Error {}
  const cause = new TypeError("no card");
  const { text, attributes } = describeThrown(new CardError("refund failed", { cause }));
  expect(text).toBe("CardError: refund failed\nCaused by: TypeError: no card");
  expect(attributes?.["exception.type"]).toBe("CardError");
  expect(attributes?.["exception.stacktrace"]).toMatch(
    /refund failed\n {4}at [\s\S]*Caused by: TypeError: no card\n {4}at /,
  );
  const circle = new Error("a");
  circle.cause = circle;
  expect(describeThrown(circle).text).toBe("Error: a");
});

it("other thrown values are told by their text", () => {
  const asJson = (value: unknown) => JSON.stringify(value);
  expect(describeThrown({ code: 5 }, asJson)).toEqual({ text: '{"code":5}', attributes: undefined });
  expect(describeThrown("late").text).toBe("late");
  expect(describeThrown(null).text).toBe("null");
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("no");
      },
    },
  );
  expect(describeThrown(hostile, asJson).text).toBe("something without a text was thrown");
  expect(describeThrown(new Error("x".repeat(50_000))).text).toHaveLength(20_000);
});

it("sizes are those of UTF-8", () => {
  expect([undefined, "a", "ä", "€", "😀"].map(byteLength)).toEqual([0, 1, 2, 3, 4]);
});
