import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createApiClient } from "@waymark/client";
import { useEmptyDatabase, useProcesses } from "@waymark/testing";

const run = promisify(execFile);
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
  const install = ["install", "--offline", "--no-audit", "--no-fund", join(project, packed?.filename ?? "")];
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
  it("is one file with its data, and installs nothing else", async () => {
    const programs = files.filter((file) => /\.[cm]?[jt]s$/.test(file));
    expect(programs).toEqual(["packages/cli/dist/main.js"]);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt", "package.json"]));
    const modules = (await readdir(join(project, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(modules).toEqual(["@waymark"]);
    expect(await readdir(join(project, "node_modules/@waymark"))).toEqual(["cli"]);
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
