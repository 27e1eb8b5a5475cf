/** The filters of the list, as the page's address has them. */
export interface Filters {
  /** A part of the name. */
  text: string;
  status: StatusFilter;
  agent: string;
  longerMs: number;
  range: RangeFilter;
  /** The list begins after this cursor of the API. */
  after: string;
}

type StatusFilter = "all" | "failed" | "running";
export type RangeFilter = keyof typeof ranges | "";

const hourMs = 3_600_000;

/** Ranges up to now, in milliseconds. */
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

export const noFilters: Filters = { text: "", status: "all", agent: "", longerMs: 0, range: "", after: "" };

const apiStatus: Readonly<Record<StatusFilter, string>> = { all: "", failed: "error,timeout", running: "running" };

/** Reads the filters of an address; unknown values count as none. */
export function readFilters(search: string): Filters {
  const query = new URLSearchParams(search);
  const status = query.get("status") ?? "";
  const range = query.get("range") ?? "";
  const longer = query.get("longer") ?? "";
  return {
    text: (query.get("q") ?? "").slice(0, 200),
    status: status === "failed" || status === "running" ? status : "all",
    agent: query.get("agent") ?? "",
    longerMs: /^\d{1,12}$/.test(longer) ? Number(longer) : 0,
    range: isRange(range) ? range : "",
    after: query.get("after") ?? "",
  };
}

function isRange(text: string): text is keyof typeof ranges {
  return Object.hasOwn(ranges, text);
}

/** The address's query with its question mark; empty without filters. */
export function writeFilters({ text, status, agent, longerMs, range, after }: Filters): string {
  const query = new URLSearchParams();
  if (text !== "") query.set("q", text);
  if (status !== "all") query.set("status", status);
  if (agent !== "") query.set("agent", agent);
  if (longerMs > 0) query.set("longer", String(longerMs));
  if (range !== "") query.set("range", range);
  if (after !== "") query.set("after", after);
  return query.size === 0 ? "" : `?${query}`;
}

/** The path of a page of the list. The range ends now, so its start is given in whole minutes. */
export function pathOf(filters: Filters, now: Date, { cursor = filters.after, limit = 50 } = {}): string {
  const query = new URLSearchParams();
  if (limit !== 50) query.set("limit", String(limit));
  if (filters.text.trim() !== "") query.set("name", filters.text.trim());
  if (filters.status !== "all") query.set("status", apiStatus[filters.status]);
  if (filters.agent !== "") query.set("agent_id", filters.agent);
  if (filters.longerMs > 0) query.set("min_duration_ms", String(filters.longerMs));
  if (filters.range !== "") {
    const from = now.getTime() - ranges[filters.range].ms;
    query.set("from", new Date(from - (from % 60_000)).toISOString());
  }
  if (cursor !== "") query.set("cursor", cursor);
  return query.size === 0 ? "/traces" : `/traces?${query}`;
}

interface ActiveFilter {
  label: string;
  /** The filters without it. */
  without: Filters;
}

/** The filters that exclude traces, each with what is left without it. */
export function activeFilters(filters: Filters): ActiveFilter[] {
  const { text, status, agent, longerMs, range, after } = filters;
  const active: ActiveFilter[] = [];
  const add = (label: string, none: Partial<Filters>) => active.push({ label, without: { ...filters, ...none } });
  if (text.trim() !== "") add(`Name with “${text.trim()}”`, { text: "" });
  if (status !== "all") add(status === "failed" ? "Failed" : "Running", { status: "all" });
  if (agent !== "") add(`Agent “${agent}”`, { agent: "" });
  if (longerMs > 0) add(`Longer than ${durationLabel(longerMs)}`, { longerMs: 0 });
  if (range !== "") add(ranges[range].label, { range: "" });
  if (after !== "") add("Older traces", { after: "" });
  return active;
}

export function durationLabel(ms: number): string {
  return durations.find((duration) => duration.ms === ms)?.label ?? `${ms} ms`;
}

/** The id of a trace in a pasted text, such as an address of a page; undefined for other text. */
export function pastedId(text: string): string | undefined {
  const id = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/i.exec(text)?.[0];
  const isOnlyId = id !== undefined && (text.trim() === id || /^https?:\/\/\S+\/traces\//.test(text.trim()));
  return isOnlyId ? id.toLowerCase() : undefined;
}
