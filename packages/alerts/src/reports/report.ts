/** A report is about a UTC week, from Monday, or a UTC month. */
export const reportPeriods = ["week", "month"] as const;
export type ReportPeriod = (typeof reportPeriods)[number];

/** A figure of the period, and of as many days before it. */
export type Pair = readonly [now: number, before: number];

/** What a report is made of. Days are UTC, both included. */
export interface ReportContent {
  period: ReportPeriod;
  first: string;
  last: string;
  traces: Pair;
  failures: Pair;
  /** In dollars, exact; null without a price. */
  cost: readonly [now: string | null, before: string | null];
  agents: readonly { id: string; traces: Pair; failures: Pair }[];
  failing: readonly {
    agentId: string;
    spanName: string | null;
    error: string | null;
    count: number;
    traceId: string;
  }[];
  sites: readonly SiteReport[];
  /** Further sites had fewer visitors. */
  otherSites: number;
  /** Percent of the latest traces without an agent, from a fifth on. */
  noisePercent: number | null;
  /** Of a delivery: the token that ends the report. */
  unsubscribe?: string;
}

export interface SiteReport {
  domain: string;
  visitors: Pair;
  pageviews: Pair;
  /** What changed most. */
  changes: readonly { what: "Page" | "Source"; name: string; visitors: Pair }[];
  /** Requests of machines: all of training, search and assistants. */
  machines: Pair;
}

const dayMs = 86_400_000;
const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The last finished period: its first day, its last, and the first day after it. */
export function lastPeriod(period: ReportPeriod, now: Date): { first: string; last: string; end: string } {
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const end = period === "month" ? Date.UTC(year, month) : Date.UTC(year, month, day - ((now.getUTCDay() + 6) % 7));
  const first = period === "month" ? Date.UTC(year, month - 1) : end - 7 * dayMs;
  return { first: toDay(first), last: toDay(end - dayMs), end: toDay(end) };
}

/** The status of a channel that gets reports alone. */
export const noFailures = "none";
