import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const { run, json, start } = createCommandLine({ DATABASE_URL: database.url });

let folder: string;
let accountId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-import-"));
  accountId = (await json<{ id: string }>("account", "create", "--email", "import@example.com", "--plan", "pro")).id;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function newSite(): Promise<string> {
  const args = ["site", "create", "--account", accountId, "--domain", `${randomUUID()}.example`, "--name", "Site"];
  return (await json<{ id: string }>(...args)).id;
}

async function countEvents(site: string): Promise<number> {
  const { rows } = await database.pool.query("SELECT count(*)::int AS n FROM event WHERE site_id = $1", [site]);
  return rows[0].n;
}

const view = (n: number) => JSON.stringify({ ts: "2026-01-02T03:04:05Z", path: `/${n}`, visitor: `v${n % 7}` });
const views = (count: number) => `${Array.from({ length: count }, (_, n) => view(n)).join("\n")}\n`;

describe("import", () => {
  it("records a file, and the same file again as duplicates", async () => {
    const site = await newSite();
    const file = join(folder, "a file.ndjson");
    await writeFile(file, views(50));
    expect(await json("import", "--site", site, "--file", file)).toEqual({
      imported: 50,
      machines: 0,
      rejected: 0,
      duplicates: 0,
    });
    expect(await json("import", "--site", site, "--file", file)).toEqual({
      imported: 0,
      machines: 0,
      rejected: 0,
      duplicates: 50,
    });
    expect(await countEvents(site)).toBe(50);
  });

  it("comes to the same in a process of its own, whose reader has a thread", async () => {
    const sites = [await newSite(), await newSite()] as const;
    const file = join(folder, "threads.ndjson");
    const event = JSON.stringify({
      ts: "2026-01-02T04:00:00Z",
      type: "event",
      name: "sale",
      props: { n: 1 },
      visitor: "v1",
    });
    await writeFile(file, `${views(2_500)}not json\n{}\n${event}\n${event}\n${views(1_000)}`);
    const ended = await start(["import", "--site", sites[0], "--file", file, "--json"]).result;
    const result = await run(["import", "--site", sites[1], "--file", file, "--json"]);
    expect(ended).toEqual(result);
    expect(JSON.parse(ended.stdout)).toEqual({ imported: 3_502, machines: 0, rejected: 2, duplicates: 0 });
    const sql = `SELECT id, at, visitor IS NULL, path, name, props::text FROM event WHERE site_id = $1 ORDER BY id`;
    const [one, two] = await Promise.all(
      sites.map((site) => database.pool.query({ text: sql, values: [site], rowMode: "array" })),
    );
    expect(one?.rows).toEqual(two?.rows);
    expect(await run(["rollup", "rebuild", "--site", sites[0], "--check"])).toMatchObject({ code: 0 });
  });

  it("reads standard input for -, and shows no progress bar where there is no terminal", async () => {
    const site = await newSite();
    const result = await run(["import", "--site", site, "--file", "-"], views(3));
    expect(result).toEqual({
      code: 0,
      stderr: "",
      stdout: "Done: 3 imported, 0 of machines, 0 rejected, 0 there already.\n",
    });
  });

  it("names rejected lines with their numbers, the first hundred in full, and goes on", async () => {
    const site = await newSite();
    const rejects = join(folder, "rejects.ndjson");
    const lines = `${view(1)}\nnot json\n${"{}\n".repeat(149)}${view(2)}\n`;
    const result = await run(["import", "--site", site, "--file", "-", "--rejects", rejects, "--json"], lines);
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout)).toEqual({ imported: 2, machines: 0, rejected: 150, duplicates: 0 });
    const told = result.stderr.trim().split("\n");
    expect(told).toHaveLength(101);
    expect(told[0]).toMatch(/^Line 2: .*JSON/);
    expect(told[1]).toBe("Line 3: ts: Required");
    expect(told[100]).toBe(`... and 50 more rejected lines; all are in ${rejects}.`);
    const written = (await readFile(rejects, "utf8")).trim().split("\n");
    expect(written).toHaveLength(150);
    expect(JSON.parse(written[149] ?? "")).toEqual({ line: 151, problem: "ts: Required" });
  });

  it("counts bots as machines unless it is told to drop them", async () => {
    const site = await newSite();
    const bot = `${JSON.stringify({ ts: "2026-01-02T03:04:05Z", path: "/", user_agent: "Googlebot/2.1", ip: "192.0.2.1" })}\n`;
    const dropped = await run(["import", "--site", site, "--file", "-", "--drop-bots", "--json"], bot);
    expect(JSON.parse(dropped.stdout)).toEqual({ imported: 0, rejected: 0, duplicates: 0, bots: 1 });
    const kept = await run(["import", "--site", site, "--file", "-", "--json"], bot);
    expect(JSON.parse(kept.stdout)).toEqual({ imported: 0, machines: 1, rejected: 0, duplicates: 0 });
  });

  it("ends with 1 and says so when every line was rejected, and with 0 when one was not", async () => {
    const site = await newSite();
    const none = await run(["import", "--site", site, "--file", "-", "--json"], "{}\n{}\n");
    expect(none.code).toBe(1);
    expect(JSON.parse(none.stdout)).toEqual({ imported: 0, machines: 0, rejected: 2, duplicates: 0 });
    expect(none.stderr).toMatch(/\nEvery line was rejected, so nothing was imported\.\n$/);
    const input = `{}\n${view(1)}\n`;
    for (const already of [0, 1]) {
      const { code, stdout } = await run(["import", "--site", site, "--file", "-", "--json"], input);
      expect({ code, ...JSON.parse(stdout) }).toEqual({
        code: 0,
        imported: 1 - already,
        machines: 0,
        rejected: 1,
        duplicates: already,
      });
    }
  });

  it("gives a line with an address and no country the country of its address", async () => {
    const site = await newSite();
    const line = (fields: object) => JSON.stringify({ ts: "2026-01-02T03:04:05Z", path: "/", ...fields });
    const input = [
      { ip: "193.0.6.139" },
      { ip: "193.0.6.139", country: "FR" },
      { ip: "192.168.1.1" },
      { visitor: "1" },
    ];
    await run(["import", "--site", site, "--file", "-"], input.map(line).join("\n"));
    const { rows } = await database.pool.query("SELECT country FROM event WHERE site_id = $1 ORDER BY country", [site]);
    expect(rows.map(({ country }) => country)).toEqual(["FR", "NL", null, null]);
  });

  it("fails with a sentence for a country database that cannot be read", async () => {
    const broken = createCommandLine({ DATABASE_URL: database.url, COUNTRY_DATABASE: join(folder, "none.mmdb") });
    const { code, stderr } = await broken.run(["import", "--site", await newSite(), "--file", "-"], views(1));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "COUNTRY_DATABASE names a file that cannot be read (ENOENT).\n",
    });
  });

  it("takes an empty input for nothing", async () => {
    const result = await run(["import", "--site", await newSite(), "--file", "-", "--json"], "");
    expect(result).toMatchObject({ code: 0, stdout: '{"imported":0,"machines":0,"rejected":0,"duplicates":0}\n' });
  });

  it("fails with a sentence for a missing site, file, folder and place for rejected lines", async () => {
    const site = await newSite();
    for (const [args, sentence] of [
      [["--site", randomUUID(), "--file", "-"], /^There is no site '/],
      [["--site", "none", "--file", "-"], /^There is no site 'none'/],
      [["--site", site, "--file", join(folder, "missing")], /^There is no file '.*missing'\.\n$/],
      [["--site", site, "--file", folder], /is a folder; --file wants a file/],
      [["--site", site, "--file", "-", "--rejects", join(folder, "no", "such")], /cannot be written/],
    ] as const) {
      const { code, stdout, stderr } = await run(["import", ...args, "--json"]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(sentence);
    }
  });

  it("that is suspended within a batch loses its site's lock, and says that it can be run again", async () => {
    const site = await newSite();
    const { child, result } = start(["import", "--site", site, "--file", "-", "--json"]);
    child.stdin.write(views(200_000));
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    while ((await countEvents(site)) === 0) await pause(50);
    const stateOf = async () => {
      const { rows } = await database.pool.query(
        `SELECT state FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'waymark command line'
           AND query NOT LIKE 'SELECT 1%' ORDER BY xact_start LIMIT 1`,
      );
      return rows[0]?.state;
    };
    let state: string | undefined;
    do {
      child.kill("SIGCONT");
      await pause(20);
      child.kill("SIGSTOP");
      do {
        await pause(50);
        state = await stateOf();
      } while (state === "active");
    } while (state !== "idle in transaction");
    while ((await stateOf()) === "idle in transaction") await pause(200);
    const written = await countEvents(site);
    expect(await json("import", "--site", site, "--file", join(folder, "a file.ndjson"))).toMatchObject({
      rejected: 0,
    });
    child.kill("SIGCONT");
    child.stdin.end();
    const { code, stdout, stderr } = await result;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^The import stood still for more than 5 seconds.*run the same command again to go on\.\n$/);
    expect(await countEvents(site)).toBeGreaterThanOrEqual(written);
  });

  it("stops in order on Ctrl-C, says that it can go on, and goes on when run again", async () => {
    const site = await newSite();
    const { child, result } = start(["import", "--site", site, "--file", "-", "--json"]);
    child.stdin.write(views(5_000));
    while ((await countEvents(site)) === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill("SIGINT");
    const { code, stdout, stderr } = await result;
    expect(code).toBe(130);
    expect(stderr).toBe("Stopped. What was imported stays; run the same command again to go on.\n");
    const stopped = JSON.parse(stdout);
    expect(stopped.imported).toBe(await countEvents(site));
    const again = await run(["import", "--site", site, "--file", "-", "--json"], views(5_000));
    expect(JSON.parse(again.stdout)).toEqual({
      imported: 5_000 - stopped.imported,
      machines: 0,
      rejected: 0,
      duplicates: stopped.imported,
    });
    expect(await countEvents(site)).toBe(5_000);
  });
});
