import { describe, expect, it } from "@jest/globals";

interface Chosen {
  name: string;
  folder: string;
  tests: string[];
}
interface Wanted {
  filter: string[];
  patterns: string[];
}

// A program without types, as all of `bin`.
const { findTests, readArguments } = (await import(new URL("../bin/test-arguments.mjs", import.meta.url).href)) as {
  findTests(packages: Chosen[], wanted: Wanted): string[];
  readArguments(args: string[]): Record<string, unknown>;
};

const packages: Chosen[] = [
  { name: "@waymark/trace-api", folder: "/r/apps/trace-api", tests: ["/r/apps/trace-api/src/a.test.ts"] },
  {
    name: "@waymark/errors",
    folder: "/r/packages/errors",
    tests: ["/r/packages/errors/b.test.ts"],
  },
];

describe("the arguments of pnpm test", () => {
  it("name packages, patterns, a Node, and what jest gets", () => {
    expect(readArguments(["--filter=trace-api", "--", "delete-trace", "-t", "some fact"])).toMatchObject({
      filter: ["trace-api"],
      patterns: ["delete-trace"],
      jest: ["-t", "some fact"],
      error: undefined,
    });
    expect(readArguments(["--node", "24", "--filter", "errors"])).toMatchObject({
      node: "24",
      filter: ["errors"],
      jest: [],
    });
    const path = "apps/trace-api/src/a.test.ts";
    expect(readArguments([path, "-t", "some fact", "--watch", "--inspect"])).toMatchObject({
      patterns: [path],
      jest: ["-t", "some fact"],
      watch: true,
      inspect: true,
    });
    expect(readArguments(["--pooler"])["pooler"]).toBe("session");
    expect(readArguments(["--pooler=transaction"])["pooler"]).toBe("transaction");
    expect(readArguments(["--again"])).toMatchObject({ again: true, error: undefined });
    expect(readArguments(["--again", "--filter=http"])["error"]).toBe("--again is for a run of all tests.");
    expect(readArguments(["--help"])["help"]).toBe(true);
  });

  it.each([
    [["--nod"]],
    [["--node"]],
    [["--node=../x"]],
    [["--filter"]],
    [["--watch"]],
    [["--pooler=x"]],
    [["--postgres=/x"]],
  ])("refuse %j", (args) => {
    expect(readArguments(args)["error"]).toMatch(
      /^(Unknown option|Option .* argument missing|--node needs|--watch and|--pooler takes|--postgres needs)/,
    );
  });

  it("choose a package by its name or its folder, and no package without a matching test", () => {
    for (const filter of ["@waymark/errors", "errors", "packages/errors", "./packages/errors"]) {
      expect(findTests(packages, { filter: [filter], patterns: [] })).toEqual(packages[1]?.tests);
    }
    expect(findTests(packages, { filter: [], patterns: ["src/a"] })).toEqual(packages[0]?.tests);
    expect(findTests(packages, { filter: ["errors"], patterns: ["src/a"] })).toEqual([]);
  });
});
