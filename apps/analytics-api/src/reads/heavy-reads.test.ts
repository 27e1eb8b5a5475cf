import { describe, expect, it } from "@jest/globals";
import { addHeavyDay } from "@waymark/testing";
import { storeDays } from "@waymark/web-stats/statistics";
import { useApp } from "../app.fixture.js";

const test = useApp(undefined, 30_000);
const day = "2026-03-14";
const now = new Date("2026-03-15T10:00:00Z");

/** Paths of anonymous beacons, each of 2,000 characters and another one. */
const longPath = "'/' || repeat('ab', 996) || n";

async function open(heavy: Omit<Parameters<typeof addHeavyDay>[1], "siteId" | "day">) {
  test.setNow(now);
  const account = await test.makeAccount();
  const siteId = await account.makeSite();
  await addHeavyDay(test.directPool, { siteId, day, ...heavy });
  const get = (rest: string) => account.get(`/api/v1/sites/${siteId}/${rest}`);
  return { siteId, get };
}

/** The processor's time for work, and for its longest piece between two rounds of the event loop, in milliseconds. */
async function watch<Result>(
  work: () => PromiseLike<Result>,
): Promise<{ result: Result; cpuMs: number; longestMs: number }> {
  const cpuMs = () => (process.cpuUsage().user + process.cpuUsage().system) / 1_000;
  const started = cpuMs();
  let [last, longestMs, isOver] = [started, 0, false];
  const round = () => {
    const now = cpuMs();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    if (!isOver) setImmediate(round);
  };
  setImmediate(round);
  const result = await work();
  isOver = true;
  return { result, cpuMs: cpuMs() - started, longestMs };
}

const substrings = (filter: number) =>
  Array.from({ length: 50 }, (_, n) => `${"ab".repeat(8)}c${filter}${n}`.slice(0, 20));
const filters = Array.from({ length: 10 }, (_, n) => `page:containsNot:${substrings(n).join("|")}`).join(";");

describe("one request's work", () => {
  it("of 500 substrings over 6,048 long paths leaves the event loop to others", async () => {
    const { siteId, get } = await open({ visitors: 6_048, path: longPath });
    for (const isStored of [false, true]) {
      if (isStored) await storeDays(test.directPool, { siteIds: [siteId], before: "2026-03-15" });
      const { result, cpuMs, longestMs } = await watch(() =>
        get(`stats?range=7d&filters=${encodeURIComponent(filters)}`),
      );
      expect(longestMs).toBeLessThan(cpuMs / 10);
      expect([result.status, result.body.pageviews]).toEqual([200, 6_048]);
    }
  });

  it("of 100 goals with 900 stars each does, too", async () => {
    const { siteId, get } = await open({ visitors: 800, path: longPath });
    // A former release took them.
    await test.pool.query(
      `INSERT INTO goal (site_id, id, name, page)
       SELECT $1, gen_random_uuid(), 'g' || n, repeat('*a', 900) || n || '*' FROM generate_series(1, 100) AS n`,
      [siteId],
    );
    const { result, cpuMs, longestMs } = await watch(() => get("goals?range=7d"));
    expect(longestMs).toBeLessThan(cpuMs / 10);
    expect([result.status, result.body.goals?.length]).toEqual([200, 100]);
  });

  it("of a part as large as a part may be does, for every answer", async () => {
    const props = `json_build_object('p', repeat('x', 20) || n, 'q', n)`;
    const { siteId, get } = await open({ visitors: 30_000, path: "'/page-' || n", props });
    await test.pool.query(
      `INSERT INTO goal (site_id, id, name, event, property, value)
       SELECT $1, gen_random_uuid(), 'g' || n, 'e', 'q', n::text FROM generate_series(1, 100) AS n`,
      [siteId],
    );
    await storeDays(test.directPool, { siteIds: [siteId], before: "2026-03-15" });
    const longest: number[] = [];
    for (const path of ["stats?lists=entryPages,exitPages&", "events?", "goals?", "stats?interval=hour&"]) {
      const { result, cpuMs, longestMs } = await watch(() => get(`${path}range=7d&filters=prop.q:isNot:7`));
      expect(result.status).toBe(200);
      longest.push(longestMs / cpuMs);
    }
    // The first ones also compile.
    expect(longest.sort((a, b) => a - b)[2]).toBeLessThan(1 / 5);
  });
});
