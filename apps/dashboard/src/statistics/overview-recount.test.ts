import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import { createRecorder, importEvents, importRollups, purgeEvents, type Recorder } from "@waymark/web-stats/analytics";
import { type Comparison, comparisons } from "@waymark/web-stats/statistics";
import fc from "fast-check";
import { useDashboard } from "../dashboard.fixture.js";
import { recountOverview, type Sent, type SentSite, type ToolDay } from "./overview-recount.fixture.js";
import { makeSite } from "./statistics.fixture.js";

const dashboard = useDashboard();

const dayMs = 86_400_000;
const secondMs = 1_000;
const firstMonth = "2026-03-01";
const today = "2026-03-08";
const dayAt = (offset: number) => new Date(Date.parse(today) + offset * dayMs).toISOString().slice(0, 10);

/** Few days, and times near each other, so that visits, parts of days and ranges have something in common. */
const offsets = fc.constantFrom(0, 0, 0, -1, -1, -1, -2, -7, -7, -7, -8, -14, -365, 1);
const seconds = fc.oneof(
  fc.integer({ min: 0, max: 86_399 }),
  fc.integer({ min: -3_600, max: 3_600 }).map((near) => 43_200 + near),
  fc.constantFrom(0, 59, 86_399),
);
const types = fc.constantFrom<Sent["type"]>("pageview", "pageview", "event", "passive", "engagement", "engagement");
const event = fc.record({
  offset: offsets,
  second: seconds,
  type: types,
  visitor: fc.constantFrom("a", "b", "c", null),
});
const live = fc.record({
  offset: fc.constantFrom(0, -1, -7),
  second: seconds,
  type: types,
  visitor: fc.constantFrom("1", "2"),
});
const count = fc.integer({ min: 0, max: 40 });
/** Of a day of Plausible, which has visits where it has page views. */
const toolDay = fc.record({
  offset: fc.constantFrom(-1, -2, -7, -8, -9, -14, -20, -365),
  figures: fc.record({
    visitors: count,
    pageviews: count,
    visits: fc.integer({ min: 1, max: 40 }),
    bounces: count,
    visitSeconds: count,
    events: count,
  }),
});
const asked = fc.record({
  second: seconds,
  range: fc.oneof(
    fc.constantFrom("today", "today", "7d", "30d"),
    fc.tuple(fc.integer({ min: -9, max: 1 }), fc.integer({ min: 0, max: 3 })),
  ),
  comparison: fc.constantFrom<Comparison>("previous", ...comparisons),
});

type Step =
  | { does: "import"; events: { offset: number; second: number; type: Sent["type"]; visitor: string | null }[] }
  | { does: "collect"; events: { offset: number; second: number; type: Sent["type"]; visitor: string }[] }
  | { does: "take over"; days: { offset: number; figures: ToolDay }[] }
  | { does: "purge" }
  | { does: "ask"; asked: { second: number; range: string | [number, number]; comparison: Comparison } };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.array(event, { minLength: 1, maxLength: 40 }).map((events): Step => ({ does: "import", events })),
    },
    {
      weight: 3,
      arbitrary: fc.array(live, { minLength: 1, maxLength: 8 }).map((events): Step => ({ does: "collect", events })),
    },
    {
      weight: 2,
      arbitrary: fc.array(toolDay, { minLength: 1, maxLength: 4 }).map((days): Step => ({ does: "take over", days })),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ does: "purge" }) },
    { weight: 9, arbitrary: asked.map((each): Step => ({ does: "ask", asked: each })) },
  ),
  { minLength: 8, maxLength: 24 },
);

interface ImportedSite {
  id: string;
  domain: string;
}

/** Imports events as lines. Those before the horizon are rejected. */
async function importAll(site: ImportedSite, sent: SentSite, events: readonly Sent[]) {
  const lines = events.map(({ day, us, visitor, type }) => ({
    ts: `${new Date(Date.parse(day) + us / 1_000).toISOString().slice(0, 19)}.${String(us % 1_000_000).padStart(6, "0")}Z`,
    path: "/",
    type: type === "passive" ? "event" : type,
    ...(visitor !== null && { visitor }),
    ...((type === "event" || type === "passive") && { name: "e", interactive: type === "event" }),
  }));
  const input = Readable.from([Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(""))]);
  const { imported, rejected } = await importEvents({ pool: dashboard.directPool, site, input });
  const taken = events.filter(({ day }) => day >= sent.horizon);
  expect([imported, rejected]).toEqual([taken.length, events.length - taken.length]);
  sent.events.push(...taken);
}

/** Imports days of Plausible. Those with figures stay as they are. */
async function takeOver(site: ImportedSite, sent: SentSite, days: readonly { offset: number; figures: ToolDay }[]) {
  const files = new Map<string, ToolDay>();
  for (const { offset, figures } of days) files.set(dayAt(offset), figures);
  const rows = [...files].map(([day, f]) => [day, f.visitors, f.pageviews, f.bounces, f.visits, f.visitSeconds].join());
  const events = [...files].filter(([, f]) => f.events > 0).map(([day, f]) => `${day},signup,${f.events}`);
  const texts: Record<string, string[]> = {
    imported_visitors: ["date,visitors,pageviews,bounces,visits,visit_duration", ...rows],
    imported_custom_events: ["date,name,events", ...events],
  };
  await importRollups({
    pool: dashboard.directPool,
    site,
    files: Object.entries(texts).map(([name, lines]) => ({
      name: `${name}.csv`,
      open: () => Readable.from([Buffer.from(`${lines.join("\n")}\n`)]),
    })),
  });
  for (const [day, figures] of files) {
    if (sent.toolDays.has(day) || sent.events.some((each) => each.day === day)) continue;
    sent.toolDays.set(day, figures);
  }
}

/** A site on its ways in, beside what it was sent. */
async function openSite() {
  const accountId = await dashboard.makeAccount();
  const domain = `${randomUUID()}.example`;
  const siteId = await makeSite(dashboard, { accountId, domain });
  const sent: SentSite = { events: [], toolDays: new Map(), horizon: "1970-01-01" };
  let live = 0;
  const recorder: Recorder = createRecorder({ pool: dashboard.directPool, now: () => live });
  const site = { id: siteId, domain };
  let micros = 0;

  const work: { [Name in Step["does"]]?: (step: Extract<Step, { does: Name }>) => Promise<void> } = {
    // Each line is another one by its microsecond.
    import: ({ events }) =>
      importAll(
        site,
        sent,
        events.map(({ offset, second, ...rest }) => ({
          day: dayAt(offset),
          us: second * 1_000_000 + ++micros,
          ...rest,
        })),
      ),
    async collect({ events }) {
      for (const { offset, second, type, visitor } of events) {
        const day = dayAt(offset);
        if (day < sent.horizon) continue;
        live = Date.parse(day) + second * secondMs;
        const { dropped } = await recorder.record({
          name: type === "passive" ? "event" : type,
          url: new URL(`https://${domain}/`),
          isHashPath: false,
          domains: [domain],
          referrer: null,
          props: null,
          country: null,
          isInteractive: type !== "passive",
          ip: `192.0.2.${visitor}`,
          userAgent: "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        });
        expect(dropped).toBeNull();
        sent.events.push({ day, us: second * 1_000_000, type, visitor: `live ${visitor}` });
      }
    },
    "take over": ({ days }) => takeOver(site, sent, days),
    async purge() {
      await purgeEvents(dashboard.directPool, { firstMonth });
      sent.horizon = firstMonth;
    },
  };
  return {
    siteId,
    sent,
    viewer: await dashboard.signIn(accountId),
    run: (step: Step) => (work[step.does] as ((step: Step) => Promise<void>) | undefined)?.(step),
    end: () => recorder.drain(),
  };
}

/** Rounds quotients, and counts the figures. */
function roundAll(value: unknown, seen: (figure: number) => void = () => undefined): unknown {
  if (typeof value === "number") {
    seen(value);
    return Math.round(value * 1e6) / 1e6;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => roundAll(each, seen));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, roundAll(each, seen)]));
}

function daysOf(range: string | [number, number]): { first: string; last: string; query: string } {
  if (typeof range === "string") {
    const first = dayAt(1 - (range === "today" ? 1 : Number.parseInt(range, 10)));
    return { first, last: today, query: `range=${range}` };
  }
  const [first, last] = [dayAt(range[0]), dayAt(range[0] + range[1])];
  return { first, last, query: `from=${first}&to=${last}` };
}

describe("the overview of a site", () => {
  it("equals an own recount of everything that the site was sent, on each way and in any order", async () => {
    const figures = { all: 0, notZero: 0 };
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        dashboard.setNow(new Date(Date.parse(today)));
        const site = await openSite();
        try {
          for (const step of all) {
            if (step.does !== "ask") {
              await site.run(step);
              continue;
            }
            const { second, range, comparison } = step.asked;
            const now = new Date(Date.parse(today) + second * secondMs);
            dashboard.setNow(now);
            const { query, ...days } = daysOf(range);
            const path = `/sites/${site.siteId}/stats?${query}&compare=${comparison}`;
            const { body } = await site.viewer.get(path).expect(200);
            const expected = recountOverview(site.sent, { now, comparison, ...days });
            const count = (figure: number) => {
              figures.all++;
              if (figure !== 0) figures.notZero++;
            };
            expect(roundAll(body.overview)).toEqual(roundAll(expected, count));
          }
        } finally {
          await site.end();
          await dashboard.pool.query("UPDATE event_horizon SET day = NULL");
        }
      }),
      randomRuns(8),
    );
    expect(figures.notZero).toBeGreaterThan(100);
  });
});
