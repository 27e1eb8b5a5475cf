import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Classification } from "../attribution/source-classifier.js";
import type { UserAgent } from "../attribution/user-agent.js";
import type { WrittenEvents } from "../recording/record-events.query.js";
import { eventTypes, type SiteEvent } from "../recording/site-event.js";
import { microsOf } from "../recording/visit.js";
import type { Derived, ImportLine } from "./import-line.schema.js";

/** How a visitor came, and with which software. Lines share a few of these. */
export type Origin = Readonly<Classification & UserAgent & Partial<Derived>>;

/** Members of an event that are rarely other than these. */
type Rare = Pick<SiteEvent, "revenue" | "isInteractive" | "engagement">;
const usual: Rare = { revenue: null, isInteractive: true, engagement: null };

/** Numbers of an event: its type, then places of `texts` (visitor, path, host, country, name, properties as JSON) and of `origins`. */
export const numbersPerEvent = 8;
/** In place of a text that the event lacks. */
export const noText = -1;
/** Characters of an id and of a time. */
export const [idLength, atLength] = [36, 27];

/** Events of lines in a form that moves between threads. */
export interface EncodedBatch {
  /** One after the other, as texts. */
  readonly ids: Uint8Array;
  /** The ends of the ids that former releases gave the events; those of the ids where they gave the same. */
  readonly formerEnds: Uint8Array;
  readonly ats: Uint8Array;
  readonly numbers: Int32Array;
  readonly texts: readonly string[];
  readonly origins: readonly Origin[];
  readonly rare: ReadonlyMap<number, Rare>;
  /** The events as rows for COPY, and where each of them ends. */
  readonly rows: Uint8Array;
  readonly rowEnds: Uint32Array;
  /** Of each event's line in the input, from 1. */
  readonly lines: Float64Array;
  /** The lines before the horizon. */
  readonly early: readonly number[];
}

export interface Batch {
  readonly events: readonly SiteEvent[];
  readonly lines: Float64Array;
  readonly early: readonly number[];
  readonly written: WrittenEvents;
}

export function decodeBatch(siteId: string, encoded: EncodedBatch): Batch {
  const { numbers, texts, origins, rare, lines, early } = encoded;
  const [ids, formerEnds, ats] = [encoded.ids, encoded.formerEnds, encoded.ats].map(asciiOf) as [
    string,
    string,
    string,
  ];
  const textAt = (index: number) => texts[numbers[index] ?? noText] ?? null;
  const events: SiteEvent[] = [];
  const places = new Map<SiteEvent, number>();
  for (let place = 0, first = 0; place < lines.length; place++, first += numbersPerEvent) {
    const { revenue, isInteractive, engagement } = rare.get(place) ?? usual;
    const props = textAt(first + 6);
    // Spreads come last: V8 makes such an object ten times faster.
    const event: SiteEvent = {
      siteId,
      id: ids.slice(place * idLength, (place + 1) * idLength),
      at: ats.slice(place * atLength, (place + 1) * atLength),
      type: eventTypes[numbers[first] ?? 0] ?? "pageview",
      visitor: textAt(first + 1),
      path: textAt(first + 2),
      host: textAt(first + 3),
      country: textAt(first + 4),
      name: textAt(first + 5),
      props: props === null ? null : JSON.parse(props),
      revenue,
      isInteractive,
      engagement,
      ...(origins[numbers[first + 7] ?? 0] as Origin),
    };
    events.push(event);
    places.set(event, place);
  }
  const rows = { bytes: bufferOf(encoded.rows), ends: encoded.rowEnds, places };
  const formerIdOf = (event: SiteEvent) => {
    const start = (places.get(event) ?? 0) * endLength;
    return event.id.slice(0, -endLength) + formerEnds.slice(start, start + endLength);
  };
  return { events, lines, early, written: { ...rows, formerIdOf } };
}

function asciiOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString("latin1");
}

/** The bytes of an array that came from another thread. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Event ids from the content of lines, so that a line imported again is the same event. Ids stay for ever beside the other
 * fields, so a hash over the address would reveal it to anybody who tries all addresses. Therefore only 20 bits of address and
 * browser go in: enough to separate visitors of one page at one moment in several files, and shared by 4,096 addresses for each
 * browser.
 */
export interface LineId {
  readonly first: string;
  /** Of the nth occurrence of identical lines, from 1. */
  nth(occurrence: number): string;
  /** The last characters of the id that former releases gave the nth occurrence; undefined where they gave the same. */
  formerEnd(occurrence: number): string | undefined;
}

/** Characters of an id that tell more of the visitor than former releases did. */
export const endLength = 4;

/** Of the bits beyond the 16 that former releases took. */
const ends = Array.from({ length: 16 }, (_, bits) => (crc32(`${bits}`) & 0xffff).toString(16).padStart(endLength, "0"));

/** Lines with the same meaning have the same id, however they are written. */
export function lineId(line: ImportLine): LineId {
  const { id, visitor, ip, userAgent } = line;
  if (id !== null) return { first: id.toLowerCase(), nth: () => id.toLowerCase(), formerEnd: () => undefined };
  const isByAddress = visitor === null && (ip !== null || userAgent !== null);
  const who = isByAddress ? crc32(`${ip ?? ""}\0${userAgent ?? ""}`) : undefined;
  const digest = hash("sha256", contentOf(line, who === undefined ? visitor : who & 0xffff), "hex");
  const millis = millisOf(line.at);
  const former = toUuid(millis, digest);
  const formerNth = (occurrence: number) =>
    occurrence === 1 ? former : toUuid(millis, hash("sha256", `${digest}#${occurrence}`, "hex"));
  if (who === undefined) return { first: former, nth: formerNth, formerEnd: () => undefined };
  const end = ends[(who >>> 16) & 0xf] ?? "";
  const nth = (occurrence: number) => formerNth(occurrence).slice(0, -endLength) + end;
  return { first: nth(1), nth, formerEnd: (occurrence) => formerNth(occurrence).slice(-endLength) };
}

const variants = "89ab";

/** The last day, since most lines are of the same day as the one before. */
let known = { day: "", ms: 0 };

function millisOf(at: string): number {
  if (!known.day || !at.startsWith(known.day)) known = { day: at.slice(0, 10), ms: Date.parse(at.slice(0, 10)) };
  return known.ms + Math.floor(microsOf(at) / 1_000);
}

/** A UUID version 8 (RFC 9562, 5.8): 48 bits of time, 74 bits of the hash. As text, since buffers fill an import's memory. */
function toUuid(millis: number, digest: string): string {
  const time = millis.toString(16).padStart(12, "0");
  const variant = variants.charAt(Number.parseInt(digest.charAt(4), 16) & 0x3);
  return `${time.slice(0, 8)}-${time.slice(8)}-8${digest.slice(1, 4)}-${variant}${digest.slice(5, 8)}-${digest.slice(8, 20)}`;
}

function contentOf(line: ImportLine, who: string | number | null): string {
  const { at, type, path, query, referrer, country, derived, name, props } = line;
  const { revenue, isInteractive, engagement } = line;
  const sortedProps = props && Object.entries(props).sort(([a], [b]) => (a < b ? -1 : 1));
  // Ids of lines without these fields are older than the fields.
  const rare = revenue === null && isInteractive && engagement === null ? [] : [{ revenue, isInteractive, engagement }];
  const texts = `["${at}","${type}",${quote(path)},${quote(query)},${quote(referrer)},${quote(country)}`;
  const start = `${texts},${typeof who === "number" ? who : quote(who)},${quote(name)}`;
  if (sortedProps === null && rare.length === 0 && !derived) return `${start},null]`;
  const rest: unknown[] = [sortedProps, ...rare];
  if (derived) {
    // Ids from before events had a host stay the same.
    const { host: _host, ...given } = derived;
    rest.push(Object.values(given));
  }
  return `${start},${JSON.stringify(rest).slice(1)}`;
}

/** Characters of a text that JSON writes in another way. */
const escaped = /["\\\p{Cc}\p{Cs}]/u;

/** As JSON.stringify, which takes longer for most texts. */
function quote(text: string | null): string {
  if (text === null) return "null";
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}
