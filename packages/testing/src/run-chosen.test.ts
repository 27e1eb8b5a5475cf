import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const program = fileURLToPath(new URL("../bin/run-chosen.mjs", import.meta.url));
const { limitsOf } = (await import(new URL("../bin/limits.mjs", import.meta.url).href)) as {
  limitsOf(env: Record<string, string>): { testMs: number; packageMs: number | undefined };
};

let folders: string[];

/** Two packages with a test each; the second also has a skipped one. */
beforeAll(() => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "waymark-chosen-")));
  folders = ["one", "two"].map((name) => join(root, name));
  for (const folder of folders) {
    mkdirSync(join(folder, "src"), { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}");
  }
  const write = (folder = "", text = "") => writeFileSync(join(folder, "src/a.test.ts"), text);
  write(folders[0], 'describe("suite", () => { it("adds", () => {}); });');
  write(folders[1], 'it("fails", () => { throw new Error(); }); it.skip("waits", () => {});');
});

afterAll(() => rmSync(join(folders[0] ?? "", ".."), { recursive: true }));

function run(...args: string[]) {
  const { status, stderr } = spawnSync(process.execPath, [program, JSON.stringify(folders), ...args], {
    encoding: "utf8",
  });
  return { status, saysNoTitle: stderr.includes('No test has the title "') };
}

describe("pnpm test -t TITLE", () => {
  it.each([
    ["no such title", 2],
    ["Suite adds", 0],
    ["waits", 0],
    ["fails", 1],
  ])("%j ends with %i", (title, status) => {
    expect(run("-t", title)).toEqual({ status, saysNoTitle: status === 2 });
  });
});

describe("the limits of jest", () => {
  it("end hanging tests, but none in a debugger", () => {
    expect(limitsOf({})).toEqual({ testMs: 480_000, packageMs: 1_800_000 });
    expect(limitsOf({ WAYMARK_TEST_WATCH: "1" })).toEqual({ testMs: 480_000, packageMs: undefined });
    expect(limitsOf({ WAYMARK_TEST_INSPECT: "1" })).toEqual({ testMs: 2 ** 31 - 1, packageMs: undefined });
  });
});
