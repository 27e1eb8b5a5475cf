import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { storeDays } from "@waymark/web-stats/statistics";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const { run, json } = createCommandLine({ DATABASE_URL: database.url });

let folder: string;
let accountId: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "waymark-export-"));
  accountId = (await json<{ id: string }>("account", "create", "--email", "export@example.com", "--plan", "pro")).id;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A site with 6,001 views, more than one read of an export. */
async function makeSite(views = 6_001): Promise<string> {
  const args = ["site", "create", "--account", accountId, "--domain", `${randomUUID()}.example`, "--name", "Site"];
  const { id } = await json<{ id: string }>(...args);
  const line = (n: number) => JSON.stringify({ ts: "2026-01-02T03:04:05Z", path: `/${n % 9}`, visitor: String(n) });
  const lines = Array.from({ length: views }, (_, n) => line(n)).join("\n");
  if (views > 0) await run(["import", "--site", id, "--file", "-"], `${lines}\n`);
  return id;
}

describe("export", () => {
  it("writes events that import takes: the same figures in another site, nothing new in its own", async () => {
    const [from, to] = [await makeSite(), await makeSite(0)];
    const file = join(folder, "out.ndjson");
    expect(await json("export", "--site", from, "--file", file)).toEqual({ exported: 6_001, file });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await json("import", "--site", to, "--file", file)).toEqual({
      imported: 6_001,
      machines: 0,
      rejected: 0,
      duplicates: 0,
    });
    expect(await json("import", "--site", from, "--file", file)).toEqual({
      imported: 0,
      machines: 0,
      rejected: 0,
      duplicates: 6_001,
    });
    const figures =
      "SELECT dimension, day, value, visitors, pageviews FROM daily_stat WHERE site_id = $1 ORDER BY 1, 2, 3";
    const [before, after] = await Promise.all([from, to].map((site) => database.pool.query(figures, [site])));
    expect(after?.rows).toEqual(before?.rows);
  });

  it("writes to standard output and nothing else there, also with --json", async () => {
    const site = await makeSite(3);
    const { code, stdout, stderr } = await run(["export", "--site", site, "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ ts: "2026-01-02T03:04:05.000000Z", type: "pageview", channel: "Direct" });
  });

  it("fails with a sentence for a missing site and a place that cannot be written", async () => {
    expect(await run(["export", "--site", "none"])).toMatchObject({ code: 1, stdout: "" });
    const result = await run(["export", "--site", await makeSite(1), "--file", join(folder, "no", "such")]);
    expect(result).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/cannot be written/) });
    expect(await readFile(join(folder, "no", "such")).catch(() => "absent")).toBe("absent");
  });
});

describe("rollup rebuild", () => {
  it("finds no difference in what was recorded", async () => {
    const result = await json("rollup", "rebuild", "--site", await makeSite(20));
    expect(result).toEqual({ days: 1, differences: 0, skipped: 0, mended: true, listed: [] });
  });

  it("reports with --check and exit code 1, and mends without it", async () => {
    const site = await makeSite(20);
    await database.pool.query("UPDATE daily_stat SET pageviews = 5 WHERE site_id = $1 AND dimension = 'total'", [site]);
    const check = await run(["rollup", "rebuild", "--site", site, "--check"]);
    expect(check.code).toBe(1);
    expect(check.stdout).toBe(
      "2026-01-02  total: stored 20 / 5, counted 20 / 20\n1 days compared: 1 differences, left.\n",
    );
    expect(await json("rollup", "rebuild", "--site", site)).toMatchObject({ differences: 1, mended: true });
    expect((await run(["rollup", "rebuild", "--site", site, "--check"])).code).toBe(0);
  });

  it("mends what filters read from stored columns", async () => {
    const site = await makeSite(20);
    const filtered = async () => {
      const later = createCommandLine({ DATABASE_URL: database.url }, () => new Date("2026-01-04T00:00:00Z"));
      const args = ["stats", "--site", site, "--filters", "entryPage:is:/wrong"];
      return (await later.json<{ pageviews: number }>(...args)).pageviews;
    };
    await database.pool.query("DELETE FROM day_part WHERE site_id = $1", [site]);
    await database.pool.query("UPDATE visit SET entry_path = '/wrong' WHERE site_id = $1", [site]);
    await storeDays(database.pool, { siteIds: [site], before: "2026-01-03" });
    expect(await filtered()).toBe(20);
    expect(await json("rollup", "rebuild", "--site", site)).toMatchObject({ mended: true });
    expect(await filtered()).toBe(0);
  });

  it("reports and drops stored columns that are not of the events", async () => {
    const site = await makeSite(20);
    const text = "UPDATE day_part SET pages = (SELECT pages FROM day_part WHERE site_id = $2) WHERE site_id = $1";
    await database.pool.query(text, [site, await makeSite(3)]);
    const check = await run(["rollup", "rebuild", "--site", site, "--check"]);
    expect([check.code, check.stdout]).toEqual([
      1,
      "2026-01-02  different parts of columns: stored 1, counted 0\n1 days compared: 1 differences, left.\n",
    ]);
    expect(await json("rollup", "rebuild", "--site", site)).toMatchObject({ differences: 1 });
    expect(await json("rollup", "rebuild", "--site", site)).toMatchObject({ differences: 0 });
    const { rows } = await database.pool.query("SELECT FROM day_part WHERE site_id = $1", [site]);
    expect(rows).toEqual([]);
  });

  it("takes every site with --all, and either one or all", async () => {
    const [first, second] = [await makeSite(3), await makeSite(4)];
    await database.pool.query("DELETE FROM visit WHERE site_id = ANY ($1)", [[first, second]]);
    const { differences, listed } = await json<{ differences: number; listed: { what: string }[] }>(
      "rollup",
      "rebuild",
      "--all",
    );
    expect(listed.filter(({ what }) => what === "rows of visits")).toHaveLength(2);
    expect(differences).toBe(2);
    expect(await json("rollup", "rebuild", "--all")).toMatchObject({ differences: 0 });
    expect(await run(["rollup", "rebuild"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--all") });
    expect((await run(["rollup", "rebuild", "--all", "--site", first])).code).toBe(2);
  });

  it("looks at the days it is told to, and refuses what is no day", async () => {
    const site = await makeSite(2);
    expect(await json("rollup", "rebuild", "--site", site, "--from", "2026-01-03")).toMatchObject({ days: 0 });
    expect((await run(["rollup", "rebuild", "--site", site, "--to", "2026-02-30"])).code).toBe(2);
  });
});
