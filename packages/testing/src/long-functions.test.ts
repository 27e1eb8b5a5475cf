import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { findLongFunctions, readRepository } from "./house-rules.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));

const linesOf = (count: number) => "  use();\n".repeat(count);

describe("functions", () => {
  it("have 70 lines at most in tests and fixtures too", () => {
    expect(findLongFunctions(readRepository(root))).toEqual([]);
  });

  it("are measured with their first and last line, wherever they stand; suites are not", () => {
    const text = [
      `function allowed() {\n${linesOf(68)}}`,
      `const long = () => {\n${linesOf(69)}};`,
      `class A {\n  method(): void {\n${linesOf(69)}  }\n}`,
      `describe("a", () => {\n${linesOf(90)}});`,
      `describe.each([1])("b", () => {\n  it("c", () => {\n${linesOf(69)}  });\n});`,
      `describeWithChromium(\n  "d",\n  (path) => {\n${linesOf(90)}  },\n);`,
    ];
    expect(findLongFunctions([{ path: "a.test.ts", text: text.join("\n") }])).toEqual([
      "a.test.ts:71: 71 lines",
      "a.test.ts:143: 71 lines",
      "a.test.ts:308: 71 lines",
    ]);
  });
});
