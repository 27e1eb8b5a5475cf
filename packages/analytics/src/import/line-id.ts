import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { ImportLine } from "./import-line.schema.js";

/**
 * Names the events of an import by what their lines say, so that a line imported again is the same event.
 *
 * An id is kept for ever, and everything else it is made of stands in the event's row. A hash over the address would
 * therefore give the address away to whoever tries them all. So of address and browser only 16 bits go in: enough to tell
 * visitors apart who open the same page at the same moment, and shared by 65,536 addresses on earth for each browser.
 */
export interface LineId {
  /** The id of the line's first occurrence. */
  readonly first: string;
  /** The id of the nth occurrence of identical lines, from 1. */
  nth(occurrence: number): string;
}

/** The id of a line's event. Lines that mean the same have the same one, however they are written. */
export function lineId(line: ImportLine): LineId {
  const { id } = line;
  if (id !== null) return { first: id.toLowerCase(), nth: () => id.toLowerCase() };
  const digest = hash("sha256", contentOf(line), "hex");
  const millis = Date.parse(line.at);
  const first = toUuid(millis, digest);
  return {
    first,
    nth: (occurrence) => (occurrence === 1 ? first : toUuid(millis, hash("sha256", `${digest}#${occurrence}`, "hex"))),
  };
}

/**
 * A UUID version 8 (RFC 9562, 5.8): 48 bits of time as in version 7, then 74 bits of the hash. Put together as text: a buffer per
 * line would be most of an import's memory.
 */
function toUuid(millis: number, digest: string): string {
  const time = millis.toString(16).padStart(12, "0");
  const variant = (0x8 | (Number.parseInt(digest.charAt(4), 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-8${digest.slice(1, 4)}-${variant}${digest.slice(5, 8)}-${digest.slice(8, 20)}`;
}

function contentOf(line: ImportLine): string {
  const { at, type, path, query, referrer, country, visitor, ip, userAgent, derived, name, props } = line;
  const who = visitor ?? (ip === null && userAgent === null ? null : crc32(`${ip ?? ""}\0${userAgent ?? ""}`) & 0xffff);
  const sortedProps = props && Object.entries(props).sort(([a], [b]) => (a < b ? -1 : 1));
  const content = [at, type, path, query, referrer, country, who, name, sortedProps];
  return JSON.stringify(derived ? [...content, Object.values(derived)] : content);
}
