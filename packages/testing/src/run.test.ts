import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const program = fileURLToPath(new URL("../bin/run.mjs", import.meta.url));
/** A repository with tests in two packages. */
let root: string;
const texts = {
  "apps/one/src/adds.test.ts": 'describe("suite", () => { it("adds", () => { const one: number = 1; }); });',
  "packages/two/src/fails.test.ts":
    'it("fails", () => { throw new Error("as it should"); }); it.skip("waits", () => {});',
  "packages/two/src/hangs.test.ts": 'it("ends late", () => new Promise(() => {}), 20);',
  "packages/two/src/waits.test.ts": 'it("never ends", () => new Promise(() => setInterval(() => {}, 60_000)), 1e9);',
  "packages/two/src/blocks.test.ts":
    'it("never yields", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0), 1e9);',
  "packages/two/src/exits.test.ts": 'it("ends the process", () => process.kill(process.pid));',
  "packages/two/src/second.test.ts": `import { existsSync, writeFileSync } from "node:fs";
    it("passes the second time", () => {
      const seen = new URL("./seen", import.meta.url);
      if (existsSync(seen)) return;
      writeFileSync(seen, "");
      throw new Error("the first time");
    });`,
  "packages/two/src/loads.test.ts": 'import "./count.js"; it("loads", () => {});',
  "packages/two/src/loads-too.test.ts": 'import "./count.js"; it("loads too", () => {});',
  "packages/two/src/large.test.ts": `it("is first", () => {}); // ${"-".repeat(200)}`,
  "apps/one/src/middle.test.ts": `it("is of another package", () => {}); // ${"-".repeat(100)}`,
  "packages/two/src/small.test.ts": 'it("is of the same package", () => {});',
  "packages/two/src/count.ts": 'console.log("loaded");',
};

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "waymark-run-")));
  for (const [path, text] of Object.entries(texts)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    const globals = path.endsWith(".test.ts") ? 'import { describe, it } from "@jest/globals";\nvoid describe;\n' : "";
    writeFileSync(join(root, path), globals + text);
  }
  writeFileSync(join(root, "package.json"), '{ "type": "module" }');
});
afterAll(() => rmSync(root, { recursive: true }));

interface Wanted {
  jest?: string[];
  maxWorkers?: number;
  again?: boolean;
}

function run(names: readonly string[], { jest = [], maxWorkers = 1, ...wanted }: Wanted = {}) {
  const files = Object.keys(texts).filter((path) => names.some((name) => path.endsWith(`/${name}.test.ts`)));
  const paths = files.map((path) => join(root, path));
  const args = [program, JSON.stringify({ ...wanted, files: paths }), `--maxWorkers=${maxWorkers}`, ...jest];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}

describe("a run of test files", () => {
  it("counts files while it runs and tests at its end, and shows failures twice", () => {
    const { status, output } = run(["adds", "fails"]);
    expect(status).toBe(1);
    expect(output).toMatch(/^1 of 2 .* s {2}(FAIL )?[ap]/m);
    expect(output).toMatch(/^2 of 2 /m);
    expect(output.match(/as it should/g)?.length).toBeGreaterThanOrEqual(2);
    expect(output).toMatch(/skipped: waits\nTests: 1 passed, 1 failed, 1 skipped\n/);
  });

  it.each([
    ["no such title", 2],
    ["Suite adds", 0],
    ["waits", 0],
    ["fails", 1],
  ])("with -t %j ends with %i", (title, status) => {
    const ended = run(["adds", "fails"], { jest: ["-t", title] });
    expect({ status: ended.status, saysNoTitle: ended.output.includes("No test has the title") }).toEqual({
      status,
      saysNoTitle: status === 2,
    });
  });

  it("loads a module once for all files of a process", () => {
    const { status, output } = run(["loads", "loads-too"]);
    expect(status).toBe(0);
    expect(output.match(/^loaded$/gm)).toHaveLength(1);
  });

  it("keeps a process to a package, and begins with the largest file", () => {
    const { output } = run(["large", "middle", "small"]);
    const order = [...output.matchAll(/^\d of 3 .*\/(\w+)\.test\.ts$/gm)].map(([, name]) => name);
    expect(order).toEqual(["large", "small", "middle"]);
  });

  it("ends a hanging test, and goes on after a process that ended", () => {
    const { status, output } = run(["exits", "hangs", "adds"]);
    expect(status).toBe(1);
    expect(output).toContain("Exceeded timeout of 20 ms");
    expect(output).toContain("The process ended with SIGTERM");
    expect(output).toContain("Tests: 1 passed, 2 failed, 0 skipped");
  });

  it("ends files that wait or block for long, and says so", () => {
    const { status, output } = run(["waits", "blocks"], { maxWorkers: 2, jest: ["--testTimeout=5000"] });
    expect(status).toBe(1);
    expect(output).toMatch(/Not ended: never ends\. Open: .*Timeout/);
    expect(output).not.toContain("Not ended: never yields");
    expect(output).toContain("The file did not end within 15 s. The process ended with SIGKILL");
    expect(output).toContain("Tests: 0 passed, 2 failed, 0 skipped");
  });

  it("repeats failed files alone, and passes if they do", () => {
    const passed = run(["adds", "second"], { again: true });
    expect(passed.output).toContain("second.test.ts: passed only alone");
    expect(passed.status).toBe(0);
    const failed = run(["adds", "fails"], { again: true });
    expect(failed.output).toContain("fails.test.ts: failed alone too");
    expect(failed.status).toBe(1);
  });
});
