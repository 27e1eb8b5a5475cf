import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { built } from "@waymark/testing";

const run = promisify(execFile);
const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const require = createRequire(import.meta.url);

/** The package on its own, as in a release; packing changes package.json for a moment, so it runs on a copy. */
let release: string;
/** A project outside of this workspace with the installed package and nothing else. */
let project: string;
let tarball: string;
let files: string[];

beforeAll(async () => {
  release = await mkdtemp(join(tmpdir(), "waymark-client-release-"));
  project = await mkdtemp(join(tmpdir(), "waymark-client-project-"));
  for (const name of ["package.json", "README.md", "LICENSE", "src", "dist", "scripts"])
    await cp(built(new URL(`../${name}`, import.meta.url)), join(release, name), { recursive: true });
  const args = ["pack", "--json", "--offline", "--silent", "--foreground-scripts=false", "--pack-destination", project];
  const { stdout } = await run("npm", args, { cwd: release });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  files = packed?.files.map(({ path }) => path) ?? [];
  tarball = join(project, packed?.filename ?? "");
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true }));
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: project });
});
afterAll(async () => {
  for (const folder of [release, project]) await rm(folder, { recursive: true, force: true });
});

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

/** TypeScript 7 has no `node10` resolution; the version that attw brings has. */
function olderTypeScript(): string {
  const attw = createRequire(require.resolve("@arethetypeswrong/cli/package.json"));
  return createRequire(attw.resolve("@arethetypeswrong/core")).resolve("typescript/lib/tsc.js");
}

describe("the package outside of this workspace", () => {
  it("has what it needs and no tests", () => {
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist/index.js", "dist/cjs/index.js"]));
    expect(files).toEqual(expect.arrayContaining(["dist/index.d.ts", "dist/cjs/index.d.ts", "dist/cjs/package.json"]));
    expect(files.filter((file) => /\.test\.|\.original$|^scripts/.test(file))).toEqual([]);
  });

  it("has a manifest for a registry, and packing leaves the repository's own as it was", async () => {
    const manifest = await readFile(join(project, "node_modules/@waymark/client/package.json"), "utf8");
    expect(manifest).not.toMatch(/workspace:|catalog:/);
    const { private: isPrivate, dependencies, devDependencies, scripts, ...published } = JSON.parse(manifest);
    expect([isPrivate, dependencies, devDependencies, scripts]).toEqual([undefined, undefined, undefined, undefined]);
    expect(published).toMatchObject({
      license: "MIT",
      sideEffects: false,
      engines: { node: ">=20.19" },
      publishConfig: { access: "public" },
    });
    expect(Object.keys(published.exports["."])).toEqual(["import", "require"]);
    const read = (path: string) => readFile(path, "utf8");
    expect(await read(join(release, "package.json"))).toBe(await read(pathOf("../package.json")));
  });

  it("has types for all resolutions of TypeScript, says attw", async () => {
    const attw = pathOf("../node_modules/.bin/attw");
    const { stdout } = await run(attw, [tarball, "--format", "json"], { cwd: project });
    const { analysis, problems } = JSON.parse(stdout);
    expect(Object.keys(analysis.entrypoints["."].resolutions)).toEqual([
      "node10",
      "node16-cjs",
      "node16-esm",
      "bundler",
    ]);
    expect(problems ?? {}).toEqual({});
  });

  it.each([
    ["required", "use.cjs", 'const { createWaymark } = require("@waymark/client");'],
    ["imported", "use.mjs", 'import { createWaymark } from "@waymark/client";'],
  ])("can be %s", async (_, file, line) => {
    await writeFile(join(project, file), `${line}\nconsole.log(typeof createWaymark({ key: 'wmk_trace_x' }).trace);\n`);
    const { stdout, stderr } = await run(process.execPath, [file], { cwd: project });
    expect({ stdout, stderr }).toEqual({ stdout: "function\n", stderr: "" });
  });

  it.each([
    ["CommonJS with the node10 resolution", "commonjs", ["--module", "commonjs", "--moduleResolution", "node10"]],
    ["CommonJS", "commonjs", ["--module", "commonjs", "--moduleResolution", "bundler"]],
    ["CommonJS by Node's rules", "commonjs", ["--module", "node16"]],
    ["an ES module by Node's rules", "module", ["--module", "nodenext"]],
    ["an ES module for a bundler", "module", ["--module", "esnext", "--moduleResolution", "bundler"]],
  ])("has types for TypeScript that becomes %s", async (_, type, options) => {
    await writeFile(join(project, "package.json"), JSON.stringify({ private: true, type }));
    await writeFile(join(project, "use.ts"), use);
    const base = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2023,dom", "--types", ""];
    const isOld = options.includes("node10");
    const tsc = isOld ? olderTypeScript() : pathOf("../../../node_modules/typescript/bin/tsc");
    const arranged = isOld ? base.filter((each) => !["--types", ""].includes(each)) : base;
    const said = await run(process.execPath, [tsc, ...arranged, ...options, "use.ts"], { cwd: project }).then(
      () => "",
      (error: { stdout: string }) => error.stdout,
    );
    expect(said).toBe("");
  });

  it("records the example of its README", async () => {
    const [, example = ""] = /```js\n([\s\S]*?)```/.exec(await readFile(join(release, "README.md"), "utf8")) ?? [];
    await writeFile(join(project, "refund.mjs"), example);
    const requests: { method: string; url: string; key: string; body: Record<string, unknown> }[] = [];
    const server = createServer(async (request, response) => {
      const { method = "", url = "", headers } = request;
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      requests.push({ method, url, key: headers.authorization ?? "", body });
      const created = { trace_id: "t", span_ids: body.spans?.map((_: unknown, index: number) => `s${index}`) };
      response.writeHead(method === "POST" ? 201 : 200, { "Content-Type": "application/json" });
      response.end(JSON.stringify(created));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const env = { WAYMARK_TRACE_KEY: "wmk_trace_x", WAYMARK_TRACE_URL: `http://127.0.0.1:${port}` };
    const { stdout } = await run(process.execPath, ["refund.mjs"], { cwd: project, env });
    server.close();
    expect(stdout).toBe("Refunded: Refund order 1042, which is paid. t\n");
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "POST /api/v1/traces",
      "POST /api/v1/traces/t/spans/batch",
      "PATCH /api/v1/traces/t",
    ]);
    expect(requests.map(({ key }) => key)).toEqual(Array(3).fill("Bearer wmk_trace_x"));
    expect(requests[1]?.body["spans"]).toMatchObject([
      { name: "refund", output: "Refunded: Refund order 1042, which is paid." },
      { name: "get_order", input: { order: 1042 }, output: { id: 1042, state: "paid" }, parent_ref: "0" },
      { name: "model", input: "Refund order 1042, which is paid.", parent_ref: "0" },
    ]);
    expect(requests[2]?.body).toMatchObject({ status: "success" });
  });
});
