import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { microsOf } from "../recording/visit.js";
import type { ImportLine } from "./import-line.schema.js";

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

const escaped = /["\\\p{Cc}\p{Cs}]/u;

/** As JSON.stringify, which takes longer for most texts. */
function quote(text: string | null): string {
  if (text === null) return "null";
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}
