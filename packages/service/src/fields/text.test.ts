import { describe, expect, it } from "@jest/globals";
import { textField } from "./text.js";

const problem = (text: unknown) => textField({ min: 1, max: 5 }).safeParse(text).error?.issues[0]?.message;

describe("textField", () => {
  it("keeps any other text as it is, emoji and white space included", () => {
    expect(textField().parse(" \t😀\u0001\uffff ")).toBe(" \t😀\u0001\uffff ");
    expect(problem("12345")).toBeUndefined();
  });

  it("refuses NUL and lone surrogates, which Postgres text cannot hold", () => {
    expect(problem("a\u0000")).toMatch(/NUL/);
    expect(problem("\ud83d")).toMatch(/lone surrogate/);
    expect(problem("\ude00a")).toMatch(/lone surrogate/);
  });

  it("refuses what is empty or too long", () => {
    expect(problem("")).toBeDefined();
    expect(problem("123456")).toBeDefined();
  });
});
