import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";

const run = promisify(execFile);

/** Notes each build, leaves half of it visible for a while, and builds the text of the package `lists`. */
const turbo = `#!/usr/bin/env node
const { appendFileSync, readFileSync, writeFileSync } = require("node:fs");
appendFileSync("builds", "x");
writeFileSync("packages/cli/dist/main.js", "throw new Error('half built')");
setTimeout(() => writeFileSync("packages/cli/dist/main.js", readFileSync("packages/plan/src/index.ts")), 200);
`;

describe("the command in a clone", () => {
  let root: string;
  const file = (path: string) => join(root, path);
  const write = async (path: string, text: string) => {
    await mkdir(dirname(file(path)), { recursive: true });
    await writeFile(file(path), text);
  };
  const program = (name: string) => `console.log("${name}")`;
  const command = async () => {
    const env = { PATH: [file("bin"), dirname(process.execPath)].join(delimiter) };
    return (await run(process.execPath, [file("packages/cli/bin/waymark.mjs")], { env, cwd: "/" })).stdout.trim();
  };
  const countBuilds = async () => (await readFile(file("builds"), "utf8").catch(() => "")).length;
  const age = (path: string, minutes: number) => {
    const at = new Date(Date.now() - minutes * 60_000);
    return utimes(file(path), at, at);
  };

  const sources = [
    "package.json",
    "prisma/schema.prisma",
    "packages/cli/package.json",
    "packages/cli/src/main.ts",
    "packages/plan/package.json",
    "packages/plan/src/index.ts",
    "packages/plan/src/index.test.ts",
    "packages/local/src/index.ts",
  ];

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "waymark-clone-"));
    for (const path of sources) await write(path, "{}");
    await write(
      "packages/cli/package.json",
      '{ "type": "module", "dependencies": { "@waymark/plan": "workspace:*" } }',
    );
    await write("packages/plan/src/index.ts", program("new"));
    await write("packages/cli/dist/main.js", program("old"));
    await mkdir(file("packages/cli/node_modules"));
    await write("bin/pnpm", "");
    await write("node_modules/.bin/turbo", turbo);
    await chmod(file("node_modules/.bin/turbo"), 0o755);
    for (const path of ["packages/cli/bin/waymark.mjs", "packages/local/bin/turbo.mjs"])
      await cp(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), file(path));
    for (const path of sources) await age(path, 20);
    await age("packages/cli/dist/main.js", 10);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  it("runs a build that is newer than its sources as it is", async () => {
    for (const path of ["packages/plan/src/index.test.ts", "packages/local/src/index.ts"]) await age(path, 5);
    expect(await command()).toBe("old");
    expect(await countBuilds()).toBe(0);
  });

  it.each([
    "prisma/schema.prisma",
    "packages/cli/package.json",
    "packages/cli/src/main.ts",
    "packages/plan/package.json",
    "packages/plan/src/index.ts",
  ])("builds once after a change of %s", async (path) => {
    await age(path, 5);
    expect([await command(), await command()]).toEqual(["new", "new"]);
    expect(await countBuilds()).toBe(1);
  });

  it("builds once for calls at the same time", async () => {
    await rm(file("packages/cli/dist/main.js"));
    expect(await Promise.all([command(), command(), command()])).toEqual(["new", "new", "new"]);
    expect(await countBuilds()).toBe(1);
  });

  it("builds after a build that was killed", async () => {
    await age("packages/plan/src/index.ts", 5);
    const { stdout: deadPid } = await run(process.execPath, ["--print", "process.pid"]);
    await write("packages/cli/node_modules/.waymark-build.lock", deadPid.trim());
    expect(await command()).toBe("new");
    expect(await countBuilds()).toBe(1);
  });

  it("never builds without turbo, as in an image", async () => {
    await rm(file("node_modules/.bin/turbo"));
    await age("packages/plan/src/index.ts", 5);
    expect(await command()).toBe("old");
  });
});
