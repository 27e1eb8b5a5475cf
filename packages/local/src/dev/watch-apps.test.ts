import { mkdirSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { type AppProcess, startApp } from "../app-process.js";
import { isAppSource, watchApps } from "./watch-apps.js";

let root: string;
let apps: AppProcess[];
let said: string[];

/** In this workspace `one` depends on `inner` through `outer`, and `two` on nothing. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "waymark-dev-"));
  await addPackage("packages/inner", []);
  await addPackage("packages/outer", ["inner"]);
  await addPackage("apps/one", ["outer"]);
  await addPackage("apps/two", []);
  await write("packages/inner/src/deep/port.js", "export const port = 1;");
  const start = 'process.send({ kind: "running", port }); setInterval(() => {}, 1_000);';
  await write("apps/one/src/main.js", `import { port } from "../../../packages/inner/src/deep/port.js"; ${start}`);
  await write("apps/two/src/main.js", `const port = 2; ${start}`);
  said = [];
  apps = watchApps({
    root,
    names: ["one", "two"],
    start: (name) =>
      startApp({
        name,
        entry: join(root, "apps", name, "src/main.js"),
        nodeFlags: [],
        env: {},
        cwd: root,
        logFile: join(root, `${name}.log`),
        say,
      }),
    say,
  });
  expect(await Promise.all(apps.map((app) => app.ready))).toEqual([1, 2]);
});

afterEach(async () => {
  await Promise.all(apps.map((app) => app.stop()));
  await rm(root, { recursive: true, force: true });
});

function say(line: string) {
  said.push(line);
}

async function addPackage(folder: string, dependencies: string[]) {
  const named = Object.fromEntries(dependencies.map((name) => [`@waymark/${name}`, "workspace:*"]));
  const manifest = { type: "module", dependencies: { ...named, express: "5.0.0" } };
  await mkdir(join(root, folder, "src/deep"), { recursive: true });
  await write(`${folder}/package.json`, JSON.stringify(manifest));
}

function write(path: string, text: string) {
  return writeFile(join(root, path), text);
}

/** Waits for a line, and forgets all lines up to it. */
async function until(pattern: RegExp): Promise<string> {
  for (let i = 0; i < 5_000; i++) {
    const index = said.findIndex((line) => pattern.test(line));
    if (index >= 0) return said.splice(0, index + 1).join("\n");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`No line ${pattern} within 100 s, but:\n${said.join("\n")}`);
}

describe("watchApps", () => {
  it("restarts the app that depends on a changed file, and no other", async () => {
    await write("packages/inner/src/deep/port.js", "export const port = 3;");
    expect(await until(/restarted/)).toBe("one: restarted (packages/inner/src/deep/port.js)");
    await write("apps/two/src/extra.js", "");
    expect(await until(/^two: restarted/)).not.toContain("one:");
  });

  it("restarts no app for a file written again with the same content", async () => {
    await write("packages/inner/src/deep/port.js", "export const port = 1;");
    await write("apps/one/src/extra.js", "");
    expect(await until(/restarted/)).toBe("one: restarted (apps/one/src/extra.js)");
    await rm(join(root, "apps/one/src/extra.js"));
    expect(await until(/restarted/)).toBe("one: restarted (apps/one/src/extra.js)");
  });

  it("shows a syntax error, and starts again when an editor replaces the file", async () => {
    await write("packages/inner/src/deep/port.js", "export const = ;");
    expect(await until(/starts again after the next change/)).toMatch(/The one ended[\s\S]*SyntaxError/);
    await write("port.tmp", "export const port = 4;");
    await rename(join(root, "port.tmp"), join(root, "packages/inner/src/deep/port.js"));
    await until(/^one: restarted/);
  });

  it("sees files in folders made later", async () => {
    await mkdir(join(root, "apps/one/src/later"));
    await write("apps/one/src/later/a.js", "");
    await until(/^one: restarted/);
    await write("apps/one/src/later/a.js", "1;");
    await until(/^one: restarted \(apps\/one\/src\/later\/a.js\)/);
    // In one turn, so the folder has its file before anybody can watch it.
    mkdirSync(join(root, "apps/one/src/full"));
    writeFileSync(join(root, "apps/one/src/full/b.js"), "");
    await until(/^one: restarted \(apps\/one\/src\/full\/b.js\)/);
  });
});

describe("isAppSource", () => {
  it("leaves out tests, fixtures and files of editors", () => {
    const paths = ["a/b.ts", "a/script.js", "a/b.test.ts", "a/b.fixture.ts", "a/.b.ts.swp", "a/b.ts~"];
    expect(paths.filter(isAppSource)).toEqual(["a/b.ts", "a/script.js"]);
  });
});
