import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { findHeavyDocuments, findTalkativeWorkspaces, wordsOf } from "./budgets.js";
import { readRepository } from "./house-rules.js";

const files = readRepository(fileURLToPath(new URL("../../../", import.meta.url)));
const words = (count: number, more = "") => `${"word ".repeat(count)}${more}`;

describe("documents", () => {
  it("keep to their words and to fewer than 1.5 relative words per 100", () => {
    expect(findHeavyDocuments(files)).toEqual([]);
  });

  it("over a budget are found", () => {
    const documents = [
      { path: "README.md", text: words(900) },
      { path: "apps/a/README.md", text: words(901) },
      { path: "apps/README.md", text: words(1_201) },
      { path: "packages/a/README.md", text: words(66, "that") },
      { path: "packages/b/README.md", text: words(65, "that") },
      { path: "packages/c/README.md", text: words(58, "that") },
    ];
    expect(findHeavyDocuments(documents)).toEqual([
      "apps/a/README.md: 901 words",
      "apps/README.md: 1201 words",
      "packages/b/README.md: 1.5 relative words per 100",
    ]);
  });

  it("are counted without code and tables", () => {
    expect(wordsOf("One `code` two.\n```sh\nthree\n```\n| four |\nFive")).toEqual(["one", "two", "five"]);
  });
});

describe("workspaces", () => {
  it("have one comment line in ten at most", () => {
    expect(findTalkativeWorkspaces(files)).toEqual([]);
  });

  it("over it are found", () => {
    const sources = [
      { path: "apps/a/src/a.ts", text: `/** a\n * b */\n\n${"use();\n".repeat(9)}` },
      { path: "apps/a/src/a.test.ts", text: "use();\n".repeat(9) },
      { path: "packages/b/bin/b.mjs", text: `// a\n// b\n${"use();\n".repeat(17)}` },
    ];
    expect(findTalkativeWorkspaces(sources)).toEqual(["packages/b: 2 comment lines of 19, 1 too many"]);
  });
});
