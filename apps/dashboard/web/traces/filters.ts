import { queryOf } from "../data/paths.js";
import { addDays, rangeProblem } from "../ui/day-range.js";
import { dayOf, startOfDay } from "../ui/format.js";
import { type Labels, labelChips, labelQuery, readLabels } from "../ui/labels.js";

/** The filters of the list, as the page's address has them. */
export interface Filters {
  text: string;
  status: StatusFilter;
  agent: string;
  longerMs: number;
  range: RangeFilter;
  /** Both days of a custom range in the person's zone; empty for others. */
  from: string;
  to: string;
  /** The list begins after this cursor of the API. */
  after: string;
  labels: Labels;
  /** Names of columns with commas; empty for those that the browser keeps. */
  columns: string;
}

type StatusFilter = "all" | "failed" | "running";
export type RangeFilter = keyof typeof ranges | "custom" | "";

const hourMs = 3_600_000;

export const ranges = {
  "1h": { ms: hourMs, label: "Last hour" },
  "24h": { ms: 24 * hourMs, label: "Last 24 hours" },
  "7d": { ms: 7 * 24 * hourMs, label: "Last 7 days" },
  "30d": { ms: 30 * 24 * hourMs, label: "Last 30 days" },
} as const;

export const durations = [
  { ms: 1_000, label: "1 s" },
  { ms: 10_000, label: "10 s" },
  { ms: 60_000, label: "1 min" },
  { ms: 600_000, label: "10 min" },
  { ms: 3_600_000, label: "1 h" },
] as const;

const anyTime = { range: "", from: "", to: "" } as const;

const apiStatus: Readonly<Record<StatusFilter, string>> = { all: "", failed: "error,timeout", running: "running" };

/** Reads the filters of an address; unknown values count as none. */
export function readFilters(search: string): Filters {
  const query = new URLSearchParams(search);
  const status = query.get("status") ?? "";
  const longer = query.get("longer") ?? "";
  return {
    text: (query.get("q") ?? "").slice(0, 200),
    status: status === "failed" || status === "running" ? status : "all",
    agent: query.get("agent") ?? "",
    longerMs: /^\d{1,12}$/.test(longer) ? Number(longer) : 0,
    ...readRange(query),
    after: query.get("after") ?? "",
    labels: readLabels((name) => query.get(name)),
    columns: (query.get("columns") ?? "").slice(0, 200),
  };
}

function readRange(query: URLSearchParams): Pick<Filters, "range" | "from" | "to"> {
  const [from, to] = [query.get("from") ?? "", query.get("to") ?? ""];
  if (rangeProblem(from, to) === undefined) return { range: "custom", from, to };
  const range = query.get("range") ?? "";
  return { ...anyTime, range: isRange(range) ? range : "" };
}

function isRange(text: string): text is keyof typeof ranges {
  return Object.hasOwn(ranges, text);
}

/** The filters with another range; a custom one begins with the last seven days. */
export function withRange(filters: Filters, range: RangeFilter, now: Date): Filters {
  if (range !== "custom") return { ...filters, ...anyTime, range };
  const to = dayOf(now);
  return { ...filters, range, from: addDays(to, -6), to };
}

export function isOpenEnded({ range }: Filters): boolean {
  return range !== "custom";
}

export function isSearch({ text }: Filters): boolean {
  return /[^\s"]/.test(text);
}

/** The address's query with its question mark; empty without filters. */
export function writeFilters(filters: Filters): string {
  const { text, status, agent, longerMs, range, from, to, after, labels, columns } = filters;
  const days = from === "" ? { range } : { from, to };
  return queryOf({
    q: text,
    status: status === "all" ? "" : status,
    agent,
    longer: longerMs,
    ...labels,
    ...days,
    after,
    columns,
  });
}

/** The path of a page of the list. The range ends now, so its start is given in whole minutes. */
export function pathOf(filters: Filters, now: Date, { cursor = filters.after, limit = 50, include = "" } = {}): string {
  return `/traces${queryOf({ limit: limit === 50 ? "" : limit, include, ...findQuery(filters, now), cursor })}`;
}

/** The path of the whole list as a file. */
export function exportPath(filters: Filters, now: Date): string {
  return `/traces/export${queryOf(findQuery(filters, now))}`;
}

function findQuery(filters: Filters, now: Date) {
  return {
    q: isSearch(filters) ? filters.text.trim() : "",
    status: apiStatus[filters.status],
    agent_id: filters.agent,
    min_duration_ms: filters.longerMs,
    ...labelQuery(filters.labels),
    ...timesOf(filters, now),
  };
}

function timesOf({ range, from, to }: Filters, now: Date): { from?: string; to?: string } {
  if (range === "") return {};
  if (range === "custom") return { from: startOfDay(from).toISOString(), to: startOfDay(addDays(to, 1)).toISOString() };
  const start = now.getTime() - ranges[range].ms;
  return { from: new Date(start - (start % 60_000)).toISOString() };
}

/** The filters that exclude traces, each with what is left without it. */
export function activeFilters(filters: Filters) {
  const { text, status, agent, longerMs, range, from, to, after, labels } = filters;
  const active: { label: string; without: Filters }[] = [];
  const add = (label: string, none: Partial<Filters>) => active.push({ label, without: { ...filters, ...none } });
  if (isSearch(filters)) add(`With “${text.trim()}”`, { text: "" });
  if (status !== "all") add(status === "failed" ? "Failed" : "Running", { status: "all" });
  if (agent !== "") add(`Agent “${agent}”`, { agent: "" });
  if (longerMs > 0) add(`Longer than ${durationLabel(longerMs)}`, { longerMs: 0 });
  for (const { says, without } of labelChips(labels)) add(says, { labels: without });
  if (range === "custom") add(from === to ? from : `${from} to ${to}`, anyTime);
  else if (range !== "") add(ranges[range].label, anyTime);
  if (after !== "") add("Older traces", { after: "" });
  return active;
}

export function durationLabel(ms: number): string {
  return durations.find((duration) => duration.ms === ms)?.label ?? `${ms} ms`;
}
