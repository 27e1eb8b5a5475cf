import { describe, expect, it } from "@jest/globals";

interface Chosen {
  name: string;
  folder: string;
  tests: string[];
}
interface Wanted {
  isHelpWanted: boolean;
  isWatchWanted: boolean;
  isInspectWanted: boolean;
  isAgainWanted: boolean;
  node: string | undefined;
  pooler: string | undefined;
  postgres: string | undefined;
  filters: string[];
  patterns: string[];
  jest: string[];
  error: string | undefined;
}

// A program without types, as all of `bin`.
const { findRefusal, findTests, needsBuild, readArguments } = (await import(
  new URL("../bin/test-arguments.mjs", import.meta.url).href
)) as {
  findRefusal(chosen: Chosen[], wanted: Pick<Wanted, "isWatchWanted">): string | undefined;
  findTests(packages: Chosen[], wanted: Pick<Wanted, "filters" | "patterns">): Chosen[];
  needsBuild(chosen: Chosen[], read: (path: string) => string): boolean;
  readArguments(args: string[]): Wanted;
};

const packages: Chosen[] = [
  { name: "@waymark/trace-api", folder: "/r/apps/trace-api", tests: ["/r/apps/trace-api/src/a.test.ts"] },
  {
    name: "@waymark/errors",
    folder: "/r/packages/errors",
    tests: ["/r/packages/errors/b.test.ts"],
  },
];
const namesOf = (chosen: Chosen[]) => chosen.map(({ name }) => name);

describe("the arguments of pnpm test", () => {
  it("name packages, patterns, a Node, and what jest gets", () => {
    expect(readArguments(["--filter=trace-api", "--", "delete-trace", "-t", "some fact"])).toMatchObject({
      filters: ["trace-api"],
      patterns: ["delete-trace"],
      jest: ["delete-trace", "-t", "some fact"],
      error: undefined,
    });
    expect(readArguments(["--node", "24", "--filter", "errors"])).toMatchObject({
      node: "24",
      filters: ["errors"],
      jest: [],
    });
    const path = "apps/trace-api/src/a.test.ts";
    expect(readArguments([path, "-t", "some fact", "--watch", "--inspect"])).toMatchObject({
      patterns: [path],
      jest: [path, "-t", "some fact"],
      isWatchWanted: true,
      isInspectWanted: true,
    });
    expect(readArguments(["--pooler"]).pooler).toBe("session");
    expect(readArguments(["--pooler=transaction"]).pooler).toBe("transaction");
    expect(readArguments(["--again"])).toMatchObject({ isAgainWanted: true, error: undefined });
    expect(readArguments(["--again", "--filter=http"]).error).toBe("--again is for a run of all tests.");
    expect(readArguments(["--help"]).isHelpWanted).toBe(true);
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
    expect(readArguments(args).error).toMatch(
      /^(There is no option|--node needs|--filter needs|--watch and|--pooler takes|--postgres needs)/,
    );
  });

  it("choose a package by its name or its folder, and no package without a matching test", () => {
    for (const filter of ["@waymark/errors", "errors", "packages/errors", "./packages/errors"]) {
      expect(namesOf(findTests(packages, { filters: [filter], patterns: [] }))).toEqual(["@waymark/errors"]);
    }
    expect(namesOf(findTests(packages, { filters: [], patterns: ["src/a"] }))).toEqual(["@waymark/trace-api"]);
    expect(findTests(packages, { filters: ["errors"], patterns: ["src/a"] })).toEqual([]);
  });

  it("refuse no test at all, and --watch with tests of several packages", () => {
    expect(findRefusal([], { isWatchWanted: false })).toMatch(/^No test matches/);
    expect(findRefusal(packages, { isWatchWanted: true })).toMatch(
      /one package; .* @waymark\/trace-api, @waymark\/http/,
    );
    expect(findRefusal(packages, { isWatchWanted: false })).toBeUndefined();
    expect(findRefusal(packages.slice(1), { isWatchWanted: true })).toBeUndefined();
  });

  it("ask for a build only where a chosen test or its fixture starts what was built", () => {
    const texts: Record<string, string> = {
      "/r/apps/trace-api/src/a.test.ts": 'import { start } from "./service.fixture.js";',
      "/r/apps/trace-api/src/service.fixture.ts": 'new URL("../dist/main.js", import.meta.url)',
    };
    const read = (path: string) => texts[path] ?? "";
    expect(needsBuild(packages.slice(0, 1), read)).toBe(true);
    expect(needsBuild(packages.slice(1), read)).toBe(false);
  });
});
