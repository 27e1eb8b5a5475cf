import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createApiClient } from "@waymark/client";
import { built, useEmptyDatabase, useProcesses } from "@waymark/testing";

const run = promisify(execFile);
// The package takes the dashboard's built pages.
built(new URL("../../../apps/dashboard/dist/main.js", import.meta.url));
const countries = createRequire(new URL("../../web-stats/package.json", import.meta.url)).resolve(
  "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb",
);
const database = useEmptyDatabase();
const startApp = useProcesses();

/** A folder outside of this workspace with the package as npm packs and installs it, and nothing else. */
let project: string;
let files: string[];

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "waymark-package-"));
  const [source, home] = [join(project, "source"), join(project, "home")];
  await run(process.execPath, [fileURLToPath(new URL("../scripts/package.mjs", import.meta.url)), source]);
  const { stdout } = await run("npm", ["pack", source, "--json", "--offline", "--pack-destination", project]);
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  files = packed?.files.map(({ path }) => path) ?? [];
  await rm(source, { recursive: true });
  await mkdir(home);
  await writeFile(join(project, "package.json"), '{ "private": true }\n');
  // Postgres and the countries are not needed here, nor to be downloaded by a test.
  const install = [
    "install",
    "--offline",
    "--omit=optional",
    "--no-audit",
    "--no-fund",
    join(project, packed?.filename ?? ""),
  ];
  await run("npm", install, { cwd: project });
});
afterAll(() => rm(project, { recursive: true, force: true }));

/** Runs the installed command with an environment of its own. */
async function waymark(
  args: readonly string[],
  env: Record<string, string> = {},
  command = "node_modules/.bin/waymark",
) {
  const minimal = {
    PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter),
    HOME: join(project, "home"),
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
  };
  const { stdout, stderr } = await run(command, args, { cwd: project, env: { ...minimal, ...env } });
  return { stdout, stderr };
}

describe("the package outside of this workspace", () => {
  it("has the programs and their data, and needs no other package", async () => {
    const parts = [
      "packages/local/dist/main.js",
      "apps/dashboard/dist/web/index.html",
      "apps/collector/assets/script.js",
    ];
    expect(files).toEqual(expect.arrayContaining(["packages/cli/dist/main.js", ...parts]));
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt", "package.json"]));
    const modules = (await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(modules).toEqual(["waymark"]);
  });

  it("shows its help and its version", async () => {
    expect(await waymark(["--help"])).toMatchObject({
      stdout: expect.stringContaining("$ waymark trace list"),
      stderr: "",
    });
    expect((await waymark(["waymark", "--version"], {}, "npx")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("migrates a database, manages it, and reads traces of a service", async () => {
    const env = { DATABASE_URL: database.url };
    expect(JSON.parse((await waymark(["migrate", "--json"], env)).stdout).applied.length).toBeGreaterThan(5);
    const email = `${randomUUID()}@example.com`;
    await waymark(["account", "create", "--email", email, "--plan", "pro"], env);
    const create = ["key", "create", "--account", email, "--service", "trace", "--name", "test", "--json"];
    const { key } = JSON.parse((await waymark(create, env)).stdout) as { key: string };
    await waymark(["site", "create", "--account", email, "--domain", "example.com", "--name", "s"], env);
    expect((await waymark(["stats", "--site", "example.com"], env)).stdout).toContain("Visitors");

    const service = await startApp("trace-api", database.url);
    const api = createApiClient({ key, url: service.url });
    const { trace_id } = await api.createTrace({
      agent_id: "billing-agent",
      name: "Refund",
      status: "running",
      started_at: new Date().toISOString(),
    });
    const { stdout, stderr } = await waymark(["trace", "list", "--key", key, "--url", service.url]);
    expect(stderr).toBe("");
    expect(stdout).toMatch(new RegExp(`^ID .*\n${trace_id} .* running +billing-agent +Refund\n$`));
    const shown = await waymark(["trace", "show", trace_id.slice(-8), "--key", key, "--url", service.url, "--json"]);
    expect(JSON.parse(shown.stdout)).toEqual(await api.getTrace(trace_id));
  });

  it("runs the whole system in one process, and stops on Ctrl-C", async () => {
    const ports = ["TRACE_API", "ANALYTICS_API", "COLLECTOR", "DASHBOARD", "OTLP_GRPC"].map((it) => [
      `${it}_PORT`,
      "0",
    ]);
    const env = { PATH: dirname(process.execPath), DATABASE_URL: database.url, COUNTRY_DATABASE: countries };
    const args = ["--data", join(project, "data")];
    const child = spawn("node_modules/.bin/waymark", args, {
      cwd: project,
      env: { ...env, ...Object.fromEntries(ports) },
    });
    let output = "";
    const ended = once(child, "exit");
    const started = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (chunk: Buffer) => {
          output += chunk;
          if (output.includes("Ctrl-C stops")) resolve();
        });
      }
    });
    await Promise.race([started, ended]);
    expect(output).toContain("Waymark runs.");
    const [, page = ""] = /dashboard +(\S+)/.exec(output) ?? [];
    expect(await (await fetch(page)).text()).toContain("<script");
    const [, collector = ""] = /collector +(\S+)/.exec(output) ?? [];
    expect((await fetch(`${collector}/js/script.js`)).status).toBe(200);
    child.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
    expect(output).toContain("Stopped.");
  });

  it("says where the country database is missing", async () => {
    const env = { DATABASE_URL: database.url };
    await writeFile(join(project, "visits.ndjson"), "");
    const failed = waymark(["import", "--site", "example.com", "--file", "visits.ndjson"], env);
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Set COUNTRY_DATABASE to an .mmdb file."),
    });
  });
});
