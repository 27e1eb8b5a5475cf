import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { findHeavyDocuments, findSettingsOverBudget, findTalkativeWorkspaces, wordsOf } from "./budgets.js";
import { readRepository } from "./house-rules.js";

const root = new URL("../../../", import.meta.url);
const files = readRepository(fileURLToPath(root));
const words = (count: number, more = "") => `${"word ".repeat(count)}${more}`;

describe("documents", () => {
  it("keep to their words and to fewer than 1.5 relative words per 100", () => {
    expect(findHeavyDocuments(files)).toEqual([]);
  });

  it("over a budget are found, tables included", () => {
    const documents = [
      { path: "README.md", text: words(950) },
      { path: "apps/a/README.md", text: words(700, "\n\n| one |\n") },
      { path: "apps/README.md", text: words(1_201) },
      { path: "packages/a/README.md", text: words(66, "that") },
      { path: "packages/b/README.md", text: words(65, "that") },
      { path: "packages/c/README.md", text: words(58, "that") },
    ];
    expect(findHeavyDocuments(documents)).toEqual([
      "apps/a/README.md: 701 words",
      "apps/README.md: 1201 words",
      "packages/b/README.md: 1.5 relative words per 100",
    ]);
  });

  it("over the words of all together are found", () => {
    const documents = Array.from({ length: 25 }, (_, n) => ({ path: `packages/a/${n}.md`, text: words(696) }));
    expect(findHeavyDocuments(documents)).toEqual(["all documents: 17400 words of prose, 17400 with tables"]);
  });

  it("are counted without code, tables apart", () => {
    const counted = wordsOf("One `code` two.\n```sh\nthree\n```\n| four `five` |\nSix");
    expect(counted).toEqual({ prose: ["one", "two", "six"], tables: ["four"] });
  });
});

describe("settings", () => {
  it("are no more than today", () => {
    expect(findSettingsOverBudget(readFileSync(new URL("docker/.env.example", root), "utf8"))).toEqual([]);
  });

  it("over it are found once each, out of use or not", () => {
    const names = Array.from({ length: 72 }, (_, n) => `NAME_${n}`);
    const example = names.map((name) => `# Of ${name}.\n#${name}=1\n`).join("");
    expect(findSettingsOverBudget(`${example}NAME_0=2`)).toEqual([]);
    expect(findSettingsOverBudget(`${example}# AB=1 CD=`)).toEqual([
      `74 settings, 72 wanted: ${names.join(", ")}, AB, CD`,
    ]);
  });
});

describe("workspaces", () => {
  it("have one comment line in ten at most, or their falling number, beside tests", () => {
    expect(findTalkativeWorkspaces(files)).toEqual([]);
  });

  it("over it are found", () => {
    const sources = [
      { path: "apps/a/src/a.ts", text: `/** a\n * b */\n\n${"use();\n".repeat(9)}` },
      { path: "apps/a/src/a.test.ts", text: "use();\n".repeat(90) },
      { path: "packages/b/bin/b.mjs", text: `// a\n// b\n${"use();\n".repeat(17)}` },
    ];
    expect(findTalkativeWorkspaces(sources)).toEqual([
      "apps/a: 2 comment lines of 11, 1 too many",
      "packages/b: 2 comment lines of 19, 1 too many",
    ]);
  });
});
