import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { byRole, createPool, grantRoles, roleUrl } from "@waymark/database";
import { randomRuns, useDatabase, useRolePrefix } from "@waymark/testing";
import { createGoal, readCosts } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import { createPurgeExpired } from "../retention/purge-expired.job.js";
import { createTestLog } from "../worker.fixture.js";
import { createSumVisitCosts } from "./sum-visit-costs.job.js";
import { type CostSite, channels, makeCostSite, type Referred } from "./visit-costs.fixture.js";

const database = useDatabase();
const prefix = useRolePrefix();
const passwords = byRole((role) => `password of ${role}`.replaceAll(" ", "-"));
const limits = { maxConnections: 4, applicationName: "test", statementTimeoutMs: 0 };
const connectionString = roleUrl(database.url, "worker", passwords.worker, prefix);
const workerPool = createPool({ connectionString, ...limits });
const { pool } = database;
beforeAll(() => grantRoles(database.url, passwords, prefix));
afterAll(() => workerPool.end());

const day = "2026-05-04";
const nextDay = "2026-05-05";
const at = (time: string, of = day) => `${of}T${time}Z`;

/** A round of the worker. @returns what it logged of failures */
async function sum(time = at("03:00:00", nextDay)) {
  const { log, lines } = createTestLog();
  const job = createSumVisitCosts({ pool: workerPool, log, now: () => new Date(time), isStopping: () => false });
  await job();
  return lines.filter(({ level }) => level >= 50);
}

type By = "channel" | "source" | "page" | "goal";

async function rowsOf({ siteId }: CostSite, by: By = "channel", days = { first: day, last: day }) {
  return (await readCosts(pool, { siteId, days, by, limit: 1_000 })).rows;
}

const sizesOf = async (site: CostSite, by: By = "channel", days = { first: day, last: day }) =>
  Object.fromEntries((await rowsOf(site, by, days)).map(({ value, visits }) => [value, visits]));

/** Visitors from `first` on, each with a view and a run. */
async function visit(site: CostSite, first: number, count: number, from: Referred, of = day) {
  for (let visitor = first; visitor < first + count; visitor++) {
    await site.view(at("10:00:00", of), { visitor, from, path: `/${from[0]}` });
    await site.run(at("10:00:05", of), await site.token(at("10:00:01", of), visitor), { cost: "0.01" });
  }
}

describe("the costs of visits", () => {
  it("are sums of runs, time, failures, conversions and revenue, by each dimension", async () => {
    const site = await makeCostSite(pool);
    await createGoal(pool, site.siteId, { name: "Buy", event: "buy" });
    await visit(site, 1, 5, "Search");
    await visit(site, 11, 6, "AI Assistants");
    for (let visitor = 1; visitor <= 5; visitor++) {
      const token = await site.token(at("10:01:00"), visitor);
      await site.run(at("10:01:01"), token, { cost: "0.020000000001", status: "error", seconds: 2 });
      await site.view(at("10:02:00"), { visitor, name: "buy", revenue: "12.5" });
    }
    expect(await sum()).toEqual([]);
    const search = { visits: 5, runs: 10, failures: 5, cost_usd: "0.150000000005", duration_ms: 15_000 };
    const bought = { ...search, conversions: 5, revenue: [{ currency: "EUR", amount: "62.5" }] };
    const ai = { visits: 6, runs: 6, failures: 0, cost_usd: "0.06", duration_ms: 6_000, conversions: 0, revenue: [] };
    const pairs = { channel: ["Search", "AI Assistants"], source: ["Google", "ChatGPT"], page: ["/S", "/A"] };
    for (const [by, [first, second]] of Object.entries(pairs)) {
      const rows = await rowsOf(site, by as By);
      expect(rows).toEqual([
        { value: first, ...bought },
        { value: second, ...ai },
      ]);
    }
    expect(await rowsOf(site, "goal")).toEqual([
      { value: "Buy", ...bought },
      { value: "(other)", ...ai },
    ]);
  });

  it("count for the visit in which a run began, and the first one if none had begun", async () => {
    const site = await makeCostSite(pool);
    for (let visitor = 1; visitor <= 5; visitor++) {
      await site.view(at("10:00:00"), { visitor, from: "Search" });
      await site.view(at("14:00:00"), { visitor, from: "AI Assistants" });
      const token = await site.token(at("10:00:01"), visitor);
      for (const time of ["09:59:59", "10:00:00", "13:59:59", "14:00:00", "23:59:59"]) await site.run(at(time), token);
    }
    await sum();
    const rows = await rowsOf(site);
    expect(rows.map(({ value, visits, runs }) => [value, visits, runs]).sort()).toEqual([
      ["AI Assistants", 5, 10],
      ["Search", 5, 15],
    ]);
  });

  it("have a run for its own site, account and day alone, and a hundred of a visitor", async () => {
    const [site, other] = [await makeCostSite(pool), await makeCostSite(pool)];
    for (let visitor = 1; visitor <= 5; visitor++) {
      for (const each of [site, other]) await each.view(at("10:00:00"), { visitor });
      const token = await site.token(at("10:00:01"), visitor);
      const yesterdays = await site.token(at("10:00:00", "2026-05-03"), visitor);
      await site.run(at("10:00:02"), token);
      for (const wrong of [await other.token(at("10:00:01"), visitor), yesterdays, "x", null])
        await site.run(at("10:00:02"), wrong);
      await site.run(at("10:00:02"), token, {}, other.accountId);
    }
    const busy = await site.token(at("10:00:01"), 1);
    for (let n = 0; n < 120; n++) await site.run(at("10:00:03"), busy);
    const last = await site.token(at("10:00:01"), 5);
    for (const late of [at("00:00:00", nextDay), at("23:59:59", "2026-05-03")]) await site.run(late, last);
    await sum();
    expect((await rowsOf(site)).map(({ visits, runs }) => [visits, runs])).toEqual([[5, 104]]);
    expect(await rowsOf(other)).toEqual([]);
  });

  it("are summed once, by workers at once too, while the salt lives, and for sites that want it alone", async () => {
    const [site, off] = [await makeCostSite(pool), await makeCostSite(pool, { isOn: false })];
    expect(await off.token(at("10:00:00"), 1)).toBeNull();
    await visit(site, 1, 6, "Search");
    expect(await sum(at("01:59:59", nextDay))).toEqual([]);
    expect(await rowsOf(site)).toEqual([]);
    expect((await Promise.all([sum(), sum(), sum()])).flat()).toEqual([]);
    expect(await sizesOf(site)).toEqual({ Search: 6 });
    const late = await makeCostSite(pool);
    await visit(late, 1, 6, "Search");
    await pool.query("DELETE FROM visitor_salt");
    await sum();
    expect(await rowsOf(late)).toEqual([]);
  });
});

describe("whoever wants to know about fewer than five visitors", () => {
  it("finds no small group, and none as what all have less the others", async () => {
    const site = await makeCostSite(pool);
    await visit(site, 1, 9, "Search");
    await visit(site, 21, 4, "AI Assistants");
    await sum();
    for (const by of ["channel", "source", "page"] as const) expect(await sizesOf(site, by)).toEqual({ "(other)": 13 });
    expect(await sizesOf(site, "goal")).toEqual({ "(other)": 13 });
    const few = await makeCostSite(pool);
    await visit(few, 1, 4, "Search");
    await sum();
    expect(await rowsOf(few)).toEqual([]);
  });

  it("learns nothing by visits of the same visitor", async () => {
    const site = await makeCostSite(pool);
    for (const hour of ["08", "10", "12", "14", "16"]) {
      await site.view(at(`${hour}:00:00`), { visitor: 1, from: "Search" });
      await site.run(at(`${hour}:00:05`), await site.token(at(`${hour}:00:01`), 1));
    }
    await sum();
    expect(await rowsOf(site)).toEqual([]);
  });

  it("learns nothing by reading before and after one visit, its deletion, or switching off and on", async () => {
    const site = await makeCostSite(pool);
    await visit(site, 1, 6, "Search");
    await sum();
    const before = await rowsOf(site);
    expect(before).toHaveLength(1);
    await visit(site, 7, 1, "Search");
    await sum(at("04:00:00", nextDay));
    expect(await rowsOf(site)).toEqual(before);
    const [trace] = (await pool.query("SELECT id FROM trace WHERE account_id = $1 LIMIT 1", [site.accountId])).rows;
    await pool.query("DELETE FROM trace WHERE account_id = $1 AND id = $2", [site.accountId, trace.id]);
    await pool.query("UPDATE site SET costs_until = NULL WHERE id = $1", [site.siteId]);
    await sum(at("05:00:00", nextDay));
    await pool.query("UPDATE site SET costs_until = $2 WHERE id = $1", [site.siteId, day]);
    await sum(at("06:00:00", nextDay));
    expect(await rowsOf(site)).toEqual(before);
  });

  it("learns nothing by ranges of days", async () => {
    const site = await makeCostSite(pool);
    await visit(site, 1, 6, "Search");
    await visit(site, 1, 3, "Search", nextDay);
    await visit(site, 11, 3, "AI Assistants", nextDay);
    await sum();
    await sum(at("03:00:00", "2026-05-06"));
    expect(await sizesOf(site)).toEqual({ Search: 6 });
    expect(await sizesOf(site, "channel", { first: nextDay, last: nextDay })).toEqual({ "(other)": 6 });
    expect(await sizesOf(site, "channel", { first: day, last: nextDay })).toEqual({ Search: 6, "(other)": 6 });
  });

  it("finds in the database no way from a trace to a visit once the salt is gone, and no token ever", async () => {
    const site = await makeCostSite(pool);
    await visit(site, 1, 6, "Search");
    const token = await site.token(at("10:00:01"), 1);
    const { rows } = await pool.query("SELECT encode(visit, 'hex') AS visit FROM trace_visit WHERE account_id = $1", [
      site.accountId,
    ]);
    expect(rows).toHaveLength(6);
    expect(rows.some(({ visit: kept }) => token?.includes(kept) || kept.includes(token))).toBe(false);
    const afterSalt = new Date(Date.now() + 49 * 3_600_000);
    const { log } = createTestLog();
    await createPurgeExpired({ pool: workerPool, log, now: () => afterSalt, isStopping: () => false })();
    const { rowCount } = await pool.query("SELECT FROM trace_visit WHERE account_id = $1", [site.accountId]);
    expect(rowCount).toBe(0);
  });
});

const scenario = fc.record({
  visitors: fc.array(
    fc.record({
      first: fc.constantFrom(...channels),
      second: fc.option(fc.constantFrom(...channels)),
      page: fc.constantFrom("/", "/a", "/b"),
      buys: fc.boolean(),
    }),
    { minLength: 1, maxLength: 24 },
  ),
  runs: fc.array(
    fc.record({
      visitor: fc.nat(),
      isLate: fc.boolean(),
      token: fc.constantFrom("own", "own", "own", "own", "none", "wrong"),
      status: fc.constantFrom("success", "error", "timeout", "running"),
      cents: fc.nat({ max: 500 }),
      isDeleted: fc.nat({ max: 4 }).map((n) => n === 0),
    }),
    { maxLength: 60 },
  ),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Drawn> ? Drawn : never;

interface Recounted {
  visitor: number;
  channel: string;
  runs: number;
  cents: number;
  failures: number;
  conversions: number;
}

const sumNames = ["runs", "cents", "failures", "conversions"] as const;

const totalOf = (rows: readonly Record<(typeof sumNames)[number], number>[]) =>
  Object.fromEntries(sumNames.map((name) => [name, rows.reduce((all, row) => all + row[name], 0)]));

/** Plays a scenario. @returns the visits that have runs, by the rule */
async function play(site: CostSite, { visitors, runs }: Scenario): Promise<Recounted[]> {
  for (const [visitor, { first, second, page, buys }] of visitors.entries()) {
    await site.view(at("10:00:00"), { visitor, from: first, path: page });
    if (buys) await site.view(at("10:01:00"), { visitor, name: "buy", revenue: "1" });
    if (second) await site.view(at("12:00:00"), { visitor, from: second });
  }
  const counted = new Map<string, Recounted>();
  for (const { visitor: n, isLate, token: kind, status, cents, isDeleted } of runs) {
    const visitor = n % visitors.length;
    const { first = "Direct", second = null, buys = false } = visitors[visitor] ?? {};
    const token = kind === "own" ? await site.token(at("10:00:01"), visitor) : kind === "none" ? null : "wrong";
    const id = await site.run(at(isLate ? "13:00:00" : "10:30:00"), token, { status, cost: `${cents / 100}` });
    if (isDeleted) await pool.query("DELETE FROM trace WHERE account_id = $1 AND id = $2", [site.accountId, id]);
    if (isDeleted || kind !== "own") continue;
    const isSecond = isLate && second !== null;
    const none = { visitor, runs: 0, cents: 0, failures: 0 };
    const ofVisit = isSecond ? { channel: second, conversions: 0 } : { channel: first, conversions: buys ? 1 : 0 };
    const own = counted.get(`${visitor} ${isSecond}`) ?? { ...none, ...ofVisit };
    counted.set(`${visitor} ${isSecond}`, own);
    own.runs++;
    own.cents += cents;
    if (status === "error" || status === "timeout") own.failures++;
  }
  return [...counted.values()];
}

async function compare(site: CostSite, visits: readonly Recounted[]): Promise<void> {
  const isEnough = new Set(visits.map(({ visitor }) => visitor)).size >= 5;
  const withCents = (rows: Awaited<ReturnType<typeof rowsOf>>) =>
    rows.map((row) => ({ ...row, cents: Math.round(100 * Number(row.cost_usd)) }));
  for (const by of ["channel", "source", "page"] as const) {
    const rows = withCents(await rowsOf(site, by));
    const counted = isEnough ? visits : [];
    expect(totalOf(rows)).toEqual(totalOf(counted));
    expect(rows.reduce((all, row) => all + row.visits, 0)).toBe(counted.length);
    for (const row of rows) expect(row.visits).toBeGreaterThanOrEqual(5);
  }
  for (const row of withCents(await rowsOf(site))) {
    if (row.value === "(other)") continue;
    const own = visits.filter(({ channel }) => channel === row.value);
    expect({ visits: row.visits, ...totalOf([row]) }).toEqual({ visits: own.length, ...totalOf(own) });
  }
}

describe("the sums", () => {
  it("equal a recount of random visits, runs and deletions over two collectors", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (drawn) => {
        const site = await makeCostSite(pool, { collectors: 2 });
        await createGoal(pool, site.siteId, { name: "Buy", event: "buy" });
        const visits = await play(site, drawn);
        expect(await sum()).toEqual([]);
        await compare(site, visits);
        await site.drain();
      }),
      randomRuns(12),
    );
  });
});
