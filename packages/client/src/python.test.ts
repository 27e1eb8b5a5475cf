import { execFile, spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { describeWithProgram } from "@waymark/testing";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("../../client-python/", import.meta.url));
const build =
  "import sys; sys.path.insert(0, 'backend'); import wheel_of_waymark as w; print(w.build_wheel(sys.argv[1]))";
const unpack = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";

describeWithProgram("python3", "the Python SDK", (python) => {
  let project: string;
  let installed: string;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "waymark-python-"));
    installed = join(project, "installed");
    // On a copy, since building leaves bytecode; without pip, by its backend alone.
    const release = join(project, "release");
    for (const name of ["pyproject.toml", "README.md", "LICENSE", "backend", "waymark"])
      await cp(join(folder, name), join(release, name), { recursive: true });
    if (spawnSync(python, ["-m", "pip", "--version"]).status === 0) {
      const options = ["--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--target", installed];
      await run(python, ["-m", "pip", "install", ...options, release]);
    } else {
      const { stdout } = await run(python, ["-c", build, project], { cwd: release });
      await run(python, ["-c", unpack, join(project, stdout.trim()), installed]);
    }
  });
  afterAll(async () => {
    await rm(project, { recursive: true, force: true });
  });

  const environment = () => ({ PYTHONPATH: installed, PYTHONDONTWRITEBYTECODE: "1" });

  it("passes its own tests, as installed", async () => {
    const { stderr } = await run(python, ["-m", "unittest", "discover", "-s", join(folder, "tests")], {
      cwd: project,
      env: environment(),
    });
    expect(stderr).toMatch(/Ran \d{2} tests in .*\n\nOK(?: \(skipped=\d+\))?\n$/);
  });

  it("is typed", async () => {
    expect(await readFile(join(installed, "waymark/py.typed"), "utf8")).toBe("");
  });

  it("records the example of its README", async () => {
    const [, example = ""] = /```python\n([\s\S]*?)```/.exec(await readFile(join(folder, "README.md"), "utf8")) ?? [];
    await writeFile(join(project, "refund.py"), example);
    const requests: { what: string; key: string; body: Record<string, unknown> }[] = [];
    const server = createServer(async (request, response) => {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      requests.push({ what: `${request.method} ${request.url}`, key: request.headers.authorization ?? "", body });
      const created = { trace_id: "t", span_ids: body.spans?.map((_: unknown, index: number) => `s${index}`) };
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(created));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const settings = { WAYMARK_TRACE_KEY: "wmk_trace_x", WAYMARK_TRACE_URL: `http://127.0.0.1:${port}` };
    const { stdout } = await run(python, ["refund.py"], { cwd: project, env: { ...environment(), ...settings } });
    server.closeAllConnections();
    server.close();
    expect(stdout).toBe("Refunded: Refund order 1042, which is paid. t\n");
    expect(requests.map(({ what }) => what)).toEqual([
      "POST /api/v1/traces",
      "POST /api/v1/traces/t/spans/batch",
      "PATCH /api/v1/traces/t",
    ]);
    expect(new Set(requests.map(({ key }) => key))).toEqual(new Set(["Bearer wmk_trace_x"]));
    expect(requests[1]?.body["spans"]).toMatchObject([
      { name: "refund" },
      { name: "get_order", input: { order: 1042 }, output: { id: 1042, state: "paid" }, parent_ref: "0" },
      { name: "model", parent_ref: "0", attributes: { "gen_ai.usage.input_tokens": 14 } },
    ]);
  });
});
