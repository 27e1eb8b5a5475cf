import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { readRepository } from "./house-rules.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const program = fileURLToPath(new URL("../bin/long-functions.mjs", import.meta.url));

/** The functions of more than 70 lines, as `file:line: lines`. */
function findLongFunctions(files: readonly string[], cwd = root): string[] {
  const output = execFileSync(process.execPath, [program, ...files], { cwd, encoding: "utf8" });
  return output.split("\n").filter(Boolean);
}

const linesOf = (count: number) => "  use();\n".repeat(count);

describe("functions", () => {
  it("have 70 lines at most, those of tests and fixtures too", () => {
    const files = readRepository(root).map(({ path }) => path);
    expect(findLongFunctions(files.filter((path) => path.endsWith(".ts")))).toEqual([]);
  });

  it("are measured with their first and last line, wherever they stand; suites are not", () => {
    const folder = mkdtempSync(join(tmpdir(), "waymark-long-"));
    try {
      const text = [
        `function allowed() {\n${linesOf(68)}}`,
        `const long = () => {\n${linesOf(69)}};`,
        `class A { method() {\n${linesOf(69)}} }`,
        `describe("a", () => {\n${linesOf(90)}});`,
        `describe.each([1])("b", () => {\n  it("c", () => {\n${linesOf(69)}  });\n});`,
      ];
      writeFileSync(join(folder, "a.ts"), `${text.join("\n")}\n`);
      expect(findLongFunctions(["a.ts"], folder)).toEqual([
        "a.ts:71: 71 lines",
        "a.ts:142: 71 lines",
        "a.ts:306: 71 lines",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
