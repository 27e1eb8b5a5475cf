import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { lists, otherValue, visitDimensionOf } from "../lists/lists.js";
import { createFigureMemory } from "./figure-memory.js";
import { useSites } from "./statistics.fixture.js";
import { type FigureRow, type FiguresQuery, readFigures } from "./statistics.query.js";

const days = ["2026-03-01", "2026-03-02", "2026-03-04", "2026-03-05"];
const asked = [lists.topPages, lists.topReferrers, lists.channels, lists.entryPages];

const dimension = fc.constantFrom("hour", ...asked.flatMap((list) => [list.dimension, visitDimensionOf(list)]));
const entry = fc.record({
  dimension,
  day: fc.constantFrom(...days),
  value: fc.constantFrom("07", "a", "B", "é", "\u{1F600}", "\uFFEE", '"', otherValue),
  visitors: fc.nat(2),
  pageviews: fc.nat(2),
  visits: fc.nat(2),
});
type Entry = { dimension: string; day: string; value: string } & Record<"visitors" | "pageviews" | "visits", number>;

const query = fc.record({
  from: fc.nat(3),
  to: fc.nat(3),
  limit: fc.integer({ min: 1, max: 4 }),
  withVisits: fc.boolean(),
  withHours: fc.boolean(),
});

describe("the memory of figures", () => {
  const { pool, makeSite } = useSites();

  async function add(siteId: string, entries: readonly Entry[]): Promise<void> {
    const sql = `INSERT INTO daily_stat (site_id, dimension, day, value, visitors, pageviews, visits, visit_us)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $7 * 1000) ON CONFLICT (site_id, dimension, day, value)
      DO UPDATE SET visitors = daily_stat.visitors + $5, pageviews = daily_stat.pageviews + $6, visits = daily_stat.visits + $7`;
    for (const { dimension, day, value, visitors, pageviews, visits } of entries) {
      await pool.query(sql, [siteId, dimension, day, value, visitors, pageviews, visits]);
      await pool.query(sql, [siteId, "total", day, "", visitors, pageviews + 1, visits]);
    }
  }

  /** What answers are made of: rows by dimension in their order, hours and totals by value. */
  function shown(rows: readonly FigureRow[], { withVisits }: { withVisits: boolean }) {
    const order = ({ dimension, value }: FigureRow) => (dimension === "hour" ? `hour ${value}` : dimension);
    return rows
      .toSorted((a, b) => (order(a) < order(b) ? -1 : Number(order(a) > order(b))))
      .map(({ dimension, value, visitors, pageviews, visits, visit_us }) => ({
        dimension,
        value,
        visitors,
        pageviews,
        ...(withVisits && { visits, visit_us }),
      }));
  }

  it("answers as the figures that it holds back, before and after changes", async () => {
    const rounds = fc.array(
      fc.tuple(fc.array(entry, { maxLength: 12 }), fc.array(query, { minLength: 1, maxLength: 4 })),
      {
        maxLength: 3,
      },
    );
    await fc.assert(
      fc.asyncProperty(rounds, async (drawn) => {
        const siteId = await makeSite();
        const memory = createFigureMemory({ pool, maxKept: 1_000 });
        for (const [entries, queries] of drawn) {
          await add(siteId, entries);
          for (const { from, to, limit, withVisits, withHours } of queries) {
            const [first = "", last = ""] = [days[Math.min(from, to)], days[Math.max(from, to)]];
            const wanted: FiguresQuery = {
              siteId,
              first,
              last,
              totalsFrom: "2026-02-01",
              lists: asked,
              limit,
              withVisits,
              withHours,
            };
            const fromEvents = shown(await readFigures(pool, wanted), wanted);
            expect(shown(await memory.read(wanted), wanted)).toEqual(fromEvents);
          }
        }
      }),
      randomRuns(20),
    );
  });

  it("reads an unchanged day no more, and a mended one again", async () => {
    const siteId = await makeSite();
    const page = { dimension: "page", day: "2026-03-01", value: "a", visitors: 1, pageviews: 1, visits: 1 };
    await add(siteId, [page]);
    const memory = createFigureMemory({ pool, maxKept: 1_000 });
    const wanted: FiguresQuery = {
      siteId,
      first: "2026-03-01",
      last: "2026-03-05",
      totalsFrom: "2026-03-01",
      lists: asked,
      limit: 10,
      withVisits: false,
      withHours: false,
    };
    const pages = async () => (await memory.read(wanted)).filter(({ dimension }) => dimension === "page");
    expect(await pages()).toMatchObject([{ value: "a", visitors: 1 }]);
    await pool.query("UPDATE daily_stat SET visitors = 7 WHERE site_id = $1 AND dimension = 'page'", [siteId]);
    expect(await pages()).toMatchObject([{ value: "a", visitors: 1 }]);
    const mended = "INSERT INTO daily_size (site_id, day, dimension, values) VALUES ($1, '2026-03-01', 'mended', 1)";
    await pool.query(mended, [siteId]);
    expect(await pages()).toMatchObject([{ value: "a", visitors: 7 }]);
  });
});
