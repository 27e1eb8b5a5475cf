import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import type { Statistics } from "@waymark/web-stats/statistics";
import stringWidth from "string-width";
import { createCommandLine } from "../command-line.fixture.js";
import { drawStatistics } from "../output/stats-view.js";
import { styleOf } from "../output/terminal-text.js";

const now = new Date("2026-03-15T10:00:00Z");

describe("waymark stats", () => {
  const database = useDatabase();
  const { run, json } = createCommandLine({ DATABASE_URL: database.url }, () => now);

  async function makeSite(): Promise<string> {
    const account = await json<{ id: string }>(
      "account",
      "create",
      "--email",
      `${randomUUID()}@example.com`,
      "--plan",
      "free",
    );
    const domain = `${randomUUID()}.example`;
    const args = ["--account", account.id, "--domain", domain, "--name", "s"];
    const site = await json<{ id: string }>("site", "create", ...args);
    await database.pool.query(
      `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews) VALUES
       ($1, 'total', '2026-03-15', '', 30, 70), ($1, 'total', '2026-03-14', '', 10, 20), ($1, 'total', '2026-03-08', '', 20, 45),
       ($1, 'page', '2026-03-15', '/', 30, 60), ($1, 'page', '2026-03-14', '/a', 5, 9), ($1, 'page', '2026-03-14', '(other)', 99, 99),
       ($1, 'channel', '2026-03-15', 'Direct', 30, 70), ($1, 'browser', '2026-03-15', 'Firefox', 30, 70)`,
      [site.id],
    );
    return site.id;
  }

  it("prints the API's answer with --json", async () => {
    const site = await makeSite();
    expect(await json("stats", "--site", site, "--range", "today", "--lists", "browsers,topPages")).toEqual({
      range: "today",
      pageviews: 70,
      uniqueVisitors: 30,
      topPages: [{ path: "/", visitors: 30, pageviews: 60 }],
      topReferrers: [],
      topCountries: [],
      channels: { Direct: { visitors: 30, pageviews: 70 } },
      browsers: [{ browser: "Firefox", visitors: 30, pageviews: 70 }],
      series: [{ day: "2026-03-15", visitors: 30, pageviews: 70 }],
      previous: { from: "2026-03-14", to: "2026-03-14", pageviews: 20, uniqueVisitors: 10 },
    });
    expect(await json("stats", "--site", site, "--limit", "1")).toMatchObject({
      range: "7d",
      topPages: [{ path: "/" }, { path: "(other)" }],
    });
  });

  it("draws totals, days and lists with bars within 80 columns", async () => {
    const { code, stdout, stderr } = await run(["stats", "--site", await makeSite()]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("2026-03-09 to 2026-03-15 (7d, UTC)");
    expect(stdout).toContain("Visitors            40  +100% (20 before)");
    expect(stdout).toMatch(/^DAY +VISITORS {2}PAGE VIEWS$/m);
    expect(stdout).toMatch(/^2026-03-13 +0 +0$/m);
    expect(stdout).toMatch(/^2026-03-14 +10 +20 {2}█{13}▍$/m);
    expect(stdout).toMatch(/^2026-03-15 +30 +70 {2}█{40}$/m);
    expect(stdout).toMatch(/^TOP PAGES[\s\S]+^\/ +30 +60 {2}█{40}$[\s\S]+^\(other\) +99 +99$/m);
    expect(stdout).toMatch(/^TOP COUNTRIES\n-$/m);
    expect(Math.max(...stdout.split("\n").map((line) => stringWidth(line)))).toBeLessThanOrEqual(80);
  });

  it("shows metrics of visits", async () => {
    const site = await makeSite();
    await database.pool.query(
      `UPDATE daily_stat SET visits = 40, bounces = 10, visit_us = 40 * 65e6, visit_views = 100, events = 3
       WHERE site_id = $1 AND dimension = 'total' AND day = '2026-03-15'`,
      [site],
    );
    const { stdout } = await run(["stats", "--site", site, "--metrics", "bounceRate,visitDuration,visits"]);
    expect(stdout).toMatch(/^Visits +40 {2}\(0 before\)$/m);
    expect(stdout).toMatch(/^Bounce rate +25\.0% {2}\(0\.0% before\)$/m);
    expect(stdout).toMatch(/^Visit duration +1m 05s {2}\(0m 00s before\)$/m);
    expect(await json("stats", "--site", site, "--metrics", "viewsPerVisit,events")).toMatchObject({
      viewsPerVisit: 2.5,
      events: 3,
    });
  });

  it("shows the engagement of pages", async () => {
    const site = await makeSite();
    const args = ["stats", "--site", site, "--metrics", "timeOnPage,scrollDepth"];
    expect((await run(args)).stdout).toMatch(/^Time on page +- {2}\(- before\)$/m);
    const line = { ts: "2026-03-15T09:00:00Z", visitor: "e", path: "/read" };
    const report = { ...line, type: "engagement", engaged_ms: 65_000, scroll_depth: 75 };
    const lines = [line, report].map((each) => JSON.stringify(each)).join("\n");
    expect(await run(["import", "--site", site, "--file", "-"], lines)).toMatchObject({ code: 0 });
    const { stdout } = await run(args);
    expect(stdout).toMatch(/^Time on page +1m 05s {2}\(- before\)$/m);
    expect(stdout).toMatch(/^Scroll depth +75\.0% {2}\(- before\)$/m);
    expect(await json(...args)).toMatchObject({ timeOnPage: 65, scrollDepth: 75 });
  });

  it("counts the visits that match filters, of a finished day at once after an import", async () => {
    const site = await makeSite();
    const line = (visitor: string, country: string, path: string) =>
      JSON.stringify({ ts: "2026-03-14T09:00:00Z", visitor, country, path });
    const lines = [line("a", "DE", "/docs/a"), line("b", "DE", "/"), line("c", "NL", "/docs/a")].join("\n");
    expect(await run(["import", "--site", site, "--file", "-"], lines)).toMatchObject({ code: 0 });
    const stored = "SELECT day::text FROM day_part WHERE site_id = $1";
    expect((await database.pool.query(stored, [site])).rows).toContainEqual({ day: "2026-03-14" });
    expect(await json("stats", "--site", site, "--filters", "country:is:DE;page:contains:/docs")).toMatchObject({
      pageviews: 1,
      uniqueVisitors: 1,
      topPages: [{ path: "/docs/a", visitors: 1, pageviews: 1 }],
    });
  });

  it.each([
    [["--filters", "country:is"], 2, "Must have a value after each operator"],
    [["--range", "90d"], 2, "Allowed choices are today, 7d, 30d."],
    [["--lists", "browsers,cats"], 2, "Allowed names, separated by commas, are topPages,"],
    [["--metrics", "visits,cats"], 2, "Allowed names, separated by commas, are visits,"],
    [["--metrics", "timeOnPage", "--filters", "country:is:DE"], 2, "Must be of page with is or contains"],
    [["--limit", "1001"], 2, "It must be a whole number from 1 to 1000."],
    [["--site", randomUUID()], 1, "There is no site"],
  ])("refuses %j with a sentence", async (args, code, sentence) => {
    expect(await run(["stats", "--site", "none", ...args])).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe("the drawing", () => {
  const path = `/${"日本語".repeat(60)}\u001b[2J`;
  const statistics: Statistics = {
    range: "today",
    pageviews: 1_234_567,
    uniqueVisitors: 0,
    topPages: [{ path, visitors: 1_000_000, pageviews: 9_999_999 }],
    topReferrers: [{ source: "Google", visitors: 0 }],
    channels: {},
    series: [{ day: "2026-03-15", visitors: 0, pageviews: 1_234_567 }],
    previous: { from: "2026-03-14", to: "2026-03-14", pageviews: 1, uniqueVisitors: 0 },
  };

  it.each([40, 60, 80, 200])("fits a terminal of %i columns, whatever visitors write", (columns) => {
    const text = drawStatistics(
      { domain: "a.example" },
      statistics,
      styleOf({ isTTY: true, columns }, { NO_COLOR: "1" }),
    );
    expect(text).not.toContain("\u001b");
    expect(text).toContain("9,999,999");
    expect(
      Math.max(
        ...text
          .split("\n")

          .map((line) => stringWidth(line)),
      ),
    ).toBeLessThanOrEqual(columns);
  });
});

describe("waymark ai", () => {
  const database = useDatabase();
  const { run, json } = createCommandLine({ DATABASE_URL: database.url }, () => now);

  it("prints the API's answer with --json, and tables", async () => {
    const account = await json<{ id: string }>("account", "create", "--email", "ai@example.com", "--plan", "free");
    const args = ["--account", account.id, "--domain", "ai.example", "--name", "s"];
    const { id } = await json<{ id: string }>("site", "create", ...args);
    await database.pool.query(
      `INSERT INTO machine_day (site_id, day, machine, path, purpose, requests, verified, refuted, errors, missing, blocked, failed)
       VALUES ($1, '2026-03-15', 'GPTBot', '/a', 'training', 5, 3, 1, 2, 1, 1, 0), ($1, '2026-03-08', 'GPTBot', '/b', 'training', 2, 0, 0, 0, 0, 0, 0)`,
      [id],
    );
    await database.pool.query(
      `INSERT INTO machine_total SELECT site_id, day, machine, min(purpose), sum(requests), sum(verified), sum(refuted), sum(errors), sum(missing), sum(blocked), sum(failed)
       FROM machine_day WHERE site_id = $1 GROUP BY site_id, day, machine`,
      [id],
    );
    expect(await json("ai", "--site", "ai.example")).toMatchObject({
      range: "7d",
      machines: [{ name: "GPTBot", requests: 5, false: 1 }],
      engines: [{ name: "ChatGPT", crawled: 5, revenue: [] }],
      pages: [{ path: "/a", crawled: 5, visitors: 0 }],
      previous: { requests: 2 },
    });
    const { code, stdout } = await run(["ai", "--site", "ai.example", "--range", "today"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ChatGPT +5 +0.*GPTBot +training +5.*\/a +5/s)]);
  });
});
