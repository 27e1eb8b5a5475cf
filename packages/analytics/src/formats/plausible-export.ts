import { cutToBytes } from "../attribution/cut-to-bytes.js";
import type { Classification } from "../attribution/source-classifier.js";
import type { CsvRecord } from "./csv.js";
import { browserName, countryCode, deviceName, systemName } from "./export-names.js";

/** A day's figures of one value of a list; of the whole site in the dimension `total`. */
export interface DayStat {
  readonly dimension: string;
  readonly value: string;
  readonly visitors: number;
  readonly pageviews: number;
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

/** A file of Plausible's export: the columns that it must have, and what a record counts. */
export interface PlausibleTable {
  readonly required: readonly string[];
  read(field: CsvRecord, classify: Classify): Omit<DayFigures, "day"> | { problem: string };
}

const pathBytes = 2_000;
const textBytes = 255;
const nameBytes = 200;

/** By the start of a file's name. Exit pages and hosts have no list by day. */
const tables: Readonly<Record<string, PlausibleTable>> = {
  imported_visitors: stats(["visitors", "pageviews"], () => [["total", ""]]),
  imported_sources: stats(["source", "visitors"], (field, classify) => {
    const { source, channel, utm_source, utm_medium, utm_campaign } = classifySource(field, classify);
    return Object.entries({ source, channel, utm_source, utm_medium, utm_campaign });
  }),
  imported_pages: stats(["page", "visitors", "pageviews"], (field) => [["page", cut(field("page"), pathBytes)]]),
  imported_entry_pages: stats(
    ["entry_page", "visitors"],
    (field) => [["entry", cut(field("entry_page"), pathBytes)]],
    () => "0",
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

/** A day of the export, `YYYY-MM-DD`, or undefined. */
export function readDay(text: string | undefined): string | undefined {
  if (!text || !/^\d{4}-\d\d-\d\d$/.test(text) || text < "1970") return undefined;
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== text ? undefined : text;
}

type Value = readonly [dimension: string, value: string | null];

function stats(
  columns: readonly string[],
  valuesOf: (field: CsvRecord, classify: Classify) => readonly Value[],
  pageviewsOf: CsvRecord = () => undefined,
): PlausibleTable {
  return {
    required: ["date", ...columns],
    read(field, classify) {
      const visitors = readCount(field("visitors"));
      const pageviews = readCount(pageviewsOf("pageviews") ?? field("pageviews") ?? "0");
      if (visitors === undefined || pageviews === undefined) {
        return { problem: "visitors and pageviews: Must be whole numbers below a billion" };
      }
      const values = valuesOf(field, classify).filter((each): each is [string, string] => each[1] !== null);
      return { stats: values.map(([dimension, value]) => ({ dimension, value, visitors, pageviews })), events: [] };
    },
  };
}

function readEvents(field: CsvRecord): Omit<DayFigures, "day"> | { problem: string } {
  const name = cut(field("name"), nameBytes);
  const count = readCount(field("events"));
  if (name === null) return { problem: "name: Required" };
  if (count === undefined) return { problem: "events: Must be a whole number below a billion" };
  const properties = { "": "", url: field("link_url"), path: field("path") };
  const present = Object.entries(properties).filter((each): each is [string, string] => each[1] !== undefined);
  return { stats: [], events: present.map(([property, value]) => ({ name, property, value, count })) };
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
