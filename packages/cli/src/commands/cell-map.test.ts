import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, it } from "@jest/globals";
import { describeWithProgram } from "@waymark/testing";
import { ask, nginxFile, readDocker, useProxies } from "../cells/proxy.fixture.js";
import { createCommandLine } from "../command-line.fixture.js";

const { run } = createCommandLine({});
const twoCells = ["--cell", "a=00-7f,a3", "--cell", "b=80-a2,a4-ff"];

async function printMap(proxy: string): Promise<string> {
  const { code, stdout } = await run(["cell", "map", "--proxy", proxy, ...twoCells]);
  expect(code).toBe(0);
  return stdout;
}

const secret = "A".repeat(43);

/** The headers of requests, and the cell of each. */
const routes: [Record<string, string>, string][] = [
  [{}, "a"],
  [{ Authorization: "Bearer wmk_trace_80_x" }, "b"],
  [{ Authorization: "bearer  wmk_stats_ff_x" }, "b"],
  [{ Authorization: "Bearer wmk_trace_a3_x" }, "a"],
  [{ Authorization: `Bearer wmk_trace_${secret}` }, "a"],
  [{ Authorization: "Bearer wmk_trace_FF_x" }, "a"],
  [{ Authorization: "Bearer x wmk_trace_ff_x" }, "a"],
  [{ Cookie: `waymark=ff.${secret}` }, "b"],
  [{ Cookie: `x=1; __Host-waymark=ff.${secret}; y=2` }, "b"],
  [{ Cookie: `waymark=ff.${secret}; __Host-waymark=00.${secret}` }, "a"],
  [{ Cookie: `waymark=${secret}` }, "a"],
  [{ Cookie: `notwaymark=ff.${secret}; waymark-sign-up=ff.${secret}` }, "a"],
  [{ Cookie: `waymark=ff.${secret}`, Authorization: "Bearer wmk_trace_00_x" }, "a"],
  [{ Host: "ff.cell.test" }, "b"],
  [{ Host: "00.cell.test" }, "a"],
  [{ Host: "fff.cell.test" }, "a"],
  [{ Host: "ff.cell.test", Cookie: `waymark=00.${secret}` }, "a"],
];

/** Paths of shared links, and the cell of each for somebody with a session in `a`. */
const paths = [
  ["/dashboard/shared/wmk_link_ff_x", "b"],
  ["/dashboard/api/shared/wmk_link_ff_x/stats?filters=page:is:/wmk_link_00_", "b"],
  ["/dashboard/shared/wmk_link_00_x", "a"],
  ["/dashboard/traces/wmk_link_ff_x", "a"],
  ["/other/dashboard/shared/wmk_link_ff_x", "a"],
] as const;

const startProxy = useProxies();

async function expectRoutes(socket: string): Promise<void> {
  for (const [headers, cell] of routes) {
    const answer = await ask(socket, { headers: { Host: "cell.test", ...headers } });
    expect({ headers, ...answer }).toEqual({ headers, status: 200, body: cell });
  }
  for (const [path, cell] of paths) {
    const headers = { Host: "cell.test", Cookie: `waymark=00.${secret}` };
    expect({ path, ...(await ask(socket, { path, headers })) }).toEqual({ path, status: 200, body: cell });
  }
}

describe("waymark cell map", () => {
  it("gives the cell of each slot as JSON", async () => {
    const { stdout } = await run(["cell", "map", "--proxy", "nginx", ...twoCells, "--json"]);
    const map: Record<string, string> = JSON.parse(stdout);
    expect(Object.keys(map)).toHaveLength(256);
    expect(map).toMatchObject({ "00": "a", "7f": "a", "80": "b", a2: "b", a3: "a", ff: "b" });
  });

  it.each([
    [["a=00-fe"], "The slot ff has no cell."],
    [["a=00-ff", "b=7f"], "The slot 7f is given twice: to a and to b."],
    [["A=00-ff"], "--cell A=00-ff must be a name and slots, such as a=00-7f,a0."],
    [["a=00-7f", "b"], "--cell b must be a name and slots, such as a=00-7f,a0."],
    [["a=00-100"], "--cell a=00-100 must be a name and slots, such as a=00-7f,a0."],
    [["a;=00-ff"], "--cell a;=00-ff must be a name and slots, such as a=00-7f,a0."],
  ])("refuses the cells %j", async (cells, sentence) => {
    const args = cells.flatMap((cell) => ["--cell", cell]);
    const { code, stdout, stderr } = await run(["cell", "map", "--proxy", "nginx", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(sentence);
  });
});

describeWithProgram("nginx", "nginx", (nginx) => {
  it("leads each request to the cell of its slot", async () => {
    const map = await printMap("nginx");
    const socket = await startProxy(nginx, (folder, path) => {
      const server = `server { listen unix:${path}; location / { return 200 "$waymark_cell"; } }`;
      writeFileSync(`${folder}/nginx.conf`, nginxFile(folder, `${map}\n${server}`));
      return ["-c", `${folder}/nginx.conf`, "-p", folder, "-e", `${folder}/error.log`];
    });
    await expectRoutes(socket);
  });
});

describeWithProgram("caddy", "Caddy", (caddy) => {
  it("leads each request to the cell of its slot", async () => {
    const map = await printMap("caddy");
    const socket = await startProxy(caddy, (folder, path) => {
      const options = `{\n\tadmin off\n\tauto_https off\n}`;
      const site = `http://cell.test, http://*.cell.test {\n\tbind unix/${path}\n\timport waymark_cells\n\trespond "{waymark_cell}"\n}\n`;
      writeFileSync(`${folder}/Caddyfile`, [options, map, site].join("\n"));
      return ["run", "--config", `${folder}/Caddyfile`, "--adapter", "caddyfile"];
    });
    await expectRoutes(socket);
  });

  it("takes docker/cells/Caddyfile with the printed map", async () => {
    const folder = mkdtempSync(`${tmpdir()}/caddy-`);
    try {
      writeFileSync(`${folder}/waymark-cells.caddy`, await printMap("caddy"));
      writeFileSync(`${folder}/Caddyfile`, readDocker("cells/Caddyfile"));
      const args = ["adapt", "--validate", "--config", `${folder}/Caddyfile`, "--adapter", "caddyfile"];
      const adapted = execFileSync(caddy, args, { encoding: "utf8", stdio: "pipe", env: { HOME: folder } });
      expect(adapted).toContain("10.0.0.2:4200");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
