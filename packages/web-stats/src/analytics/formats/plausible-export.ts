import type { Classification } from "../attribution/source-classifier.js";
import { cutToBytes } from "../attribution/source-classifier.js";
import { browserName, countryCode, deviceName, systemName } from "./exports.js";
import type { CsvRecord } from "./format.js";

interface DayCounts {
  readonly visitors: number;
  readonly pageviews: number;
  readonly visits: number;
  readonly bounces: number;
  readonly visitSeconds: number;
  readonly visitViews: number;
  readonly events: number;
}

/** A day's figures of one value of a list; of the whole site in the dimension `total`. */
export interface DayStat extends DayCounts {
  readonly dimension: string;
  readonly value: string;
}

/** A day's occurrences of a custom event; `property` is empty for the event itself. */
export interface DayOccurrence {
  readonly name: string;
  readonly property: string;
  readonly value: string;
  readonly count: number;
}

export interface DayFigures {
  readonly day: string;
  readonly stats: readonly DayStat[];
  readonly events: readonly DayOccurrence[];
}

export type Classify = (referrer: string | null, query: string | null) => Classification;

export interface PlausibleTable {
  readonly required: readonly string[];
  read(field: CsvRecord, classify: Classify): Omit<DayFigures, "day"> | { problem: string };
}

const pathBytes = 2_000;
const textBytes = 255;
const nameBytes = 200;

/** By the start of a file's name. */
const tables: Readonly<Record<string, PlausibleTable>> = {
  imported_visitors: stats(["visitors", "pageviews"], () => [["total", ""]]),
  imported_sources: stats(["source", "visitors"], (field, classify) => {
    const { source, channel, utm_source, utm_medium, utm_campaign } = classifySource(field, classify);
    return Object.entries({ source, channel, utm_source, utm_medium, utm_campaign });
  }),
  // Its visits come without bounces and duration.
  imported_pages: stats(["page", "visitors", "pageviews"], (field) => [["page", cut(field("page"), pathBytes)]]),
  imported_entry_pages: stats(["entry_page", "visitors"], (field) => entryValues(field("entry_page")), "entrances"),
  imported_exit_pages: stats(
    ["exit_page", "visitors"],
    (field) => [["exit", cut(field("exit_page"), pathBytes)]],
    "exits",
  ),
  imported_locations: stats(["country", "visitors"], (field) => [["country", countryCode(field("country")) ?? null]]),
  imported_devices: stats(["device", "visitors"], (field) => [["device", deviceName(field("device"))]]),
  imported_browsers: stats(["browser", "visitors"], (field) => [
    ["browser", cut(browserName(field("browser")), textBytes)],
  ]),
  imported_operating_systems: stats(["operating_system", "visitors"], (field) => [
    ["os", cut(systemName(field("operating_system")), textBytes)],
  ]),
  imported_custom_events: { required: ["date", "name", "events"], read: readEvents },
};

/** The table of a file such as `imported_pages_20260101_20260331.csv`; undefined for one that counts nothing. */
export function plausibleTable(file: string): PlausibleTable | undefined {
  const name = /^(?:.*\/)?(imported_[a-z_]+?)(?:_\d{8}_\d{8})?\.csv$/.exec(file)?.[1];
  return name === undefined || !Object.hasOwn(tables, name) ? undefined : tables[name];
}

export function readDay(text: string | undefined): string | undefined {
  if (!text || !/^\d{4}-\d\d-\d\d$/.test(text) || text < "1970") return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== text ? undefined : text;
}

type Value = readonly [dimension: string, value: string | null];

const noCounts: DayCounts = {
  visitors: 0,
  pageviews: 0,
  visits: 0,
  bounces: 0,
  visitSeconds: 0,
  visitViews: 0,
  events: 0,
};

/** The dimensions of visits' first and last pages count no page views. */
const withoutPageviews = new Set(["entry", "visit_entry", "exit"]);

/** Visitors count by their first page of the day, visits by theirs. */
function entryValues(page: string | undefined): Value[] {
  const path = cut(page, pathBytes);
  return [
    ["entry", path],
    ["visit_entry", path],
  ];
}

function stats(
  columns: readonly string[],
  valuesOf: (field: CsvRecord, classify: Classify) => readonly Value[],
  visitsColumn = "visits",
): PlausibleTable {
  return {
    required: ["date", ...columns],
    read(field, classify) {
      const counts = readCounts(field, visitsColumn);
      if (!counts) return { problem: "Counts must be whole numbers below a billion" };
      const values = valuesOf(field, classify).filter((each): each is [string, string] => each[1] !== null);
      const found = values.map(([dimension, value]): DayStat => {
        const own = dimension === "entry" ? { ...noCounts, visitors: counts.visitors } : counts;
        return { ...own, ...(withoutPageviews.has(dimension) && { pageviews: 0 }), dimension, value };
      });
      return { stats: found, events: [] };
    },
  };
}

/** Visits count only with all their figures: means over some visits without a duration would be wrong. */
function readCounts(field: CsvRecord, visitsColumn: string): DayCounts | undefined {
  const own = [field("visitors"), field("pageviews") ?? "0"].map(readCount);
  const written = [visitsColumn, "bounces", "visit_duration", "pageviews"].map(field);
  const ofVisits = written.every((text) => text !== undefined) ? written.map(readCount) : [0, 0, 0, 0];
  const [visitors, pageviews, visits, bounces, visitSeconds, visitViews] = [...own, ...ofVisits];
  if (visitors === undefined || pageviews === undefined || visits === undefined) return undefined;
  if (bounces === undefined || visitSeconds === undefined || visitViews === undefined) return undefined;
  return { visitors, pageviews, visits, bounces, visitSeconds, visitViews, events: 0 };
}

function readEvents(field: CsvRecord): Omit<DayFigures, "day"> | { problem: string } {
  const name = cut(field("name"), nameBytes);
  const count = readCount(field("events"));
  if (name === null) return { problem: "name: Required" };
  if (count === undefined) return { problem: "events: Must be a whole number below a billion" };
  const properties = { "": "", url: field("link_url"), path: field("path") };
  const present = Object.entries(properties).filter((each): each is [string, string] => each[1] !== undefined);
  return {
    stats: [{ ...noCounts, dimension: "total", value: "", events: count }],
    events: present.map(([property, value]) => ({ name, property, value, count })),
  };
}

/** By referrer and tags as of an event; where both say nothing, by Plausible's name of the source. */
function classifySource(field: CsvRecord, classify: Classify): Classification {
  const referrer = field("referrer");
  const tags = new URLSearchParams();
  for (const name of ["utm_source", "utm_medium", "utm_campaign"]) {
    const value = field(name);
    if (value !== undefined) tags.set(name, value);
  }
  const address = referrer && (referrer.includes("://") ? referrer : `https://${referrer}`);
  const found = classify(address ?? null, `${tags}` || null);
  const source = field("source");
  if (found.source !== null || source === undefined || source === "Direct / None") return found;
  tags.set("utm_source", source);
  const { source: name, channel } = classify(null, `${tags}`);
  return { ...found, source: name, channel };
}

function readCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function cut(text: string | null | undefined, bytes: number): string | null {
  return text ? cutToBytes(text, bytes) : null;
}
