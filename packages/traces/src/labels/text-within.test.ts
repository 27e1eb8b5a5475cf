import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { textWithin } from "./list-parts.query.js";

const user = (value: unknown) => textWithin([JSON.stringify(value), null], "user", 100);

describe("the text in an input", () => {
  it.each([
    ["a string", 'Refund "42",\nplease', 'Refund "42",\nplease'],
    ["a member with a usual name", { id: "x7", question: "Why?" }, "Why?"],
    ["the first string of others", { n: 1, city: "Rome" }, "Rome"],
    ["no string", { n: 1 }, '{"n":1}'],
    [
      "the last message of the user",
      [
        { role: "system", content: "Be kind" },
        { role: "user", content: "Hi" },
        { role: "user", content: "Refund" },
        { role: "assistant", content: "Done" },
      ],
      "Refund",
    ],
    [
      "a message with its role last",
      [
        { content: "Be kind", role: "system" },
        { content: "Hi", role: "user" },
      ],
      "Hi",
    ],
    ["a message in parts", { messages: [{ role: "user", parts: [{ type: "text", content: "Hi" }] }] }, "Hi"],
  ])("is that of %s", (_, value, text) => {
    expect(user(value)).toBe(text);
  });

  it("comes from the end where the text is cut, and from the beginning without a message there", () => {
    const history = JSON.stringify([
      { role: "user", content: "First" },
      { role: "user", content: "Last" },
    ]);
    expect(textWithin([history.slice(0, 30), history.slice(30)], "user", 100)).toBe("Last");
    expect(textWithin(['{"prompt":"Say \\u00', 'more"}'], "user", 100)).toBe("Say");
  });

  it("is short, well-formed text of any JSON, cut anywhere", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, at) => {
        const text = textWithin([json.slice(0, at % (json.length + 1)), json], "assistant", 20);
        expect(text.length).toBeLessThanOrEqual(20);
        expect(text.isWellFormed() && !text.includes("\u0000")).toBe(true);
      }),
    );
  });

  it.each(['"text"'.repeat(700), `{"text"${" ".repeat(4_000)}`, '"\\'.repeat(2_000), '{"role":"user"'.repeat(280)])(
    "is found at once in hostile text: %.20s",
    (json) => {
      const begin = performance.now();
      for (let n = 0; n < 100; n++) textWithin([json, json], "user", 100);
      expect(performance.now() - begin).toBeLessThan(1_000);
    },
  );
});
