import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

const run = promisify(execFile);
const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** A project outside of this workspace that has the package as npm packs it, and nothing else. */
let project: string;
let files: string[];

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "waymark-client-"));
  const args = ["pack", "--json", "--offline", "--ignore-scripts", "--pack-destination", project];
  const { stdout } = await run("npm", args, { cwd: pathOf("..") });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  files = packed?.files.map(({ path }) => path) ?? [];
  const target = join(project, "node_modules/@waymark/client");
  await mkdir(target, { recursive: true });
  await run("tar", ["-xzf", join(project, packed?.filename ?? ""), "-C", target, "--strip-components=1"]);
}, 60_000);
afterAll(() => rm(project, { recursive: true, force: true }));

const use = `import { createWaymark, type TraceQuery, WaymarkApiError } from "@waymark/client";
const waymark = createWaymark({ key: "wmk_trace_x" });
const query: TraceQuery = { status: ["error"] };
export async function work(): Promise<string> {
  const { traces } = await waymark.api.listTraces(query);
  // @ts-expect-error: a list is no number
  const wrong: number = traces;
  return waymark.trace({ agent_id: "a", name: String(wrong) }, (span) => span.run("step", () => "done"));
}
export const isRefusal = (error: unknown): boolean => error instanceof WaymarkApiError && error.status === 403;
`;

describe("the package outside of this workspace", () => {
  it("has what it needs and no tests", () => {
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist/index.js", "dist/cjs/index.js"]));
    expect(files).toEqual(expect.arrayContaining(["dist/index.d.ts", "dist/cjs/index.d.ts", "dist/cjs/package.json"]));
    expect(files.filter((file) => file.includes(".test."))).toEqual([]);
  });

  it.each([
    ["required", "use.cjs", 'const { createWaymark } = require("@waymark/client");'],
    ["imported", "use.mjs", 'import { createWaymark } from "@waymark/client";'],
  ])("can be %s", async (_, file, line) => {
    await writeFile(join(project, file), `${line}\nconsole.log(typeof createWaymark({}).trace);\n`);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: project });
    expect({ stdout, stderr }).toEqual({ stdout: "function\n", stderr: "" });
  });

  it.each([
    ["CommonJS", "commonjs", ["--module", "commonjs", "--moduleResolution", "bundler"]],
    ["CommonJS by Node's rules", "commonjs", ["--module", "node16"]],
    ["an ES module by Node's rules", "module", ["--module", "nodenext"]],
    ["an ES module for a bundler", "module", ["--module", "esnext", "--moduleResolution", "bundler"]],
  ])(
    "has types for TypeScript that becomes %s",
    async (_, type, options) => {
      await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type }));
      await writeFile(join(project, "use.ts"), use);
      const base = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom", "--types", ""];
      const tsc = pathOf("../../../node_modules/typescript/bin/tsc");
      const said = await run(process.execPath, [tsc, ...base, ...options, "use.ts"], { cwd: project }).then(
        () => "",
        (error: { stdout: string }) => error.stdout,
      );
      expect(said).toBe("");
    },
    60_000,
  );
});
