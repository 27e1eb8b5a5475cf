import type { Pair, ReportContent, ReportPeriod, SiteReport } from "@waymark/alerts";
import { AppError } from "@waymark/errors";
import { listFailures, readAgentFigures, readKeep, readNoise, readUsageTables } from "@waymark/traces";
import { otherValue } from "@waymark/web-stats/lists";
import { listSites, previousDays, readDays, readList, readMachineDays, type Site } from "@waymark/web-stats/statistics";
import type pg from "pg";

/** What a mail names. */
const bounds = { sites: 20, agents: 10, failures: 5, changes: 5 } as const;
/** Rows of a list among which a change is looked for. */
const comparedRows = 100;

interface ReportToRead {
  accountId: string;
  period: ReportPeriod;
  /** Days in UTC, both included, and the day after them. */
  first: string;
  last: string;
  end: string;
}

/** Reads an account's report, by one statement at a time; undefined where nothing came, neither then nor before. */
export async function readReport(pool: pg.Pool, read: ReportToRead): Promise<ReportContent | undefined> {
  const { accountId, period, first, last, end } = read;
  const before = previousDays({ first, last });
  const agents = await readAgentFigures(pool, { accountId, before: before.first, from: first, to: end });
  const sites: SiteReport[] = [];
  for (const site of await listSites(pool, accountId)) sites.push(await readSite(pool, site, { first, last }));
  const shown = sites
    .filter(({ visitors: [now, then] }) => now + then > 0)
    .sort((a, b) => b.visitors[0] - a.visitors[0]);
  const traces = sumOf(agents.map((agent): Pair => [agent.traces, agent.before.traces]));
  if (traces[0] + traces[1] === 0 && shown.length === 0) return undefined;
  const costs = async (from: string, to: string) =>
    (await readUsageTables(pool, { accountId, from, to, interval: "day" })).total.cost_usd;
  const month = `${last.slice(0, 7)}-01`;
  const noise = await readNoise(pool, { accountId, month });
  const isToldOfNoise = noise.isMuch && (await readKeep(pool, accountId)) === "all";
  return {
    period,
    first,
    last,
    traces,
    failures: sumOf(agents.map((agent): Pair => [agent.failures, agent.before.failures])),
    cost: [await costs(first, end), await costs(before.first, first)],
    agents: agents.slice(0, bounds.agents).map(({ id, before: then, ...now }) => ({
      id,
      traces: [now.traces, then.traces],
      failures: [now.failures, then.failures],
    })),
    failing: await readFailing(pool, read),
    sites: shown.slice(0, bounds.sites),
    otherSites: Math.max(0, shown.length - bounds.sites),
    noisePercent: isToldOfNoise ? Math.round((100 * noise.noise) / noise.traces) : null,
  };
}

function sumOf(pairs: readonly Pair[]): Pair {
  return pairs.reduce<Pair>(([now, then], pair) => [now + pair[0], then + pair[1]], [0, 0]);
}

/** None where too many traces failed to group them. */
async function readFailing(pool: pg.Pool, { accountId, first, end }: ReportToRead): Promise<ReportContent["failing"]> {
  const range = { from: `${first}T00:00:00.000Z`, to: `${end}T00:00:00.000Z` };
  try {
    const { failures } = await listFailures(pool, { accountId, ...range, limit: bounds.failures });
    return failures.map(({ agent_id, span_name, error, count, trace_id }) => {
      return { agentId: agent_id, spanName: span_name, error, count, traceId: trace_id };
    });
  } catch (error) {
    if (error instanceof AppError && error.status === 400) return [];
    throw error;
  }
}

async function readSite(
  pool: pg.Pool,
  { id: siteId, domain }: Site,
  days: { first: string; last: string },
): Promise<SiteReport> {
  const before = previousDays(days);
  const figures = async (range: typeof days) => {
    const rows = await readDays(pool, { siteId, ...range });
    return { visitors: sum(rows, "visitors"), pageviews: sum(rows, "pageviews") };
  };
  const [now, then] = [await figures(days), await figures(before)];
  const machines = async (range: typeof days) =>
    (await readMachineDays(pool, { siteId, ...range })).reduce(
      (all, { crawled, answered }) => all + crawled + answered,
      0,
    );
  return {
    domain,
    visitors: [now.visitors, then.visitors],
    pageviews: [now.pageviews, then.pageviews],
    changes: now.visitors + then.visitors === 0 ? [] : await readChanges(pool, siteId, [days, before]),
    machines: [await machines(days), await machines(before)],
  };
}

function sum<Name extends string>(rows: readonly Record<Name, number>[], name: Name): number {
  return rows.reduce((all, row) => all + row[name], 0);
}

const compared = [
  ["Page", "topPages", "path"],
  ["Source", "topReferrers", "source"],
] as const;

/** The pages and sources whose visitors changed most. One that a full list leaves out has no known figure, so it is left out, too. */
async function readChanges(
  pool: pg.Pool,
  siteId: string,
  [days, before]: readonly [{ first: string; last: string }, { first: string; last: string }],
): Promise<SiteReport["changes"]> {
  const changes: SiteReport["changes"][number][] = [];
  for (const [what, list, key] of compared) {
    const read = async (range: typeof days) => {
      const rows = await readList(pool, { siteId, range, list, limit: comparedRows });
      const visitors = new Map(rows.map((row) => [`${row[key]}`, Number(row["visitors"])]));
      visitors.delete(otherValue);
      return { isFull: rows.length >= comparedRows, visitors };
    };
    const [now, then] = [await read(days), await read(before)];
    for (const name of new Set([...now.visitors.keys(), ...then.visitors.keys()])) {
      const pair = [now, then].map(({ isFull, visitors }) => visitors.get(name) ?? (isFull ? undefined : 0));
      if (pair[0] !== undefined && pair[1] !== undefined) changes.push({ what, name, visitors: [pair[0], pair[1]] });
    }
  }
  const change = ({ visitors: [now, then] }: (typeof changes)[number]) => Math.abs(now - then);
  return changes
    .filter((each) => change(each) > 0)
    .sort((a, b) => change(b) - change(a))
    .slice(0, bounds.changes);
}
