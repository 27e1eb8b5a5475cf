import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { ImportLine } from "./import-line.schema.js";

/**
 * Event ids from the content of lines, so that a line imported again is the same event. Ids stay for ever beside the other
 * fields, so a hash over the address would reveal it to anybody who tries all addresses. Therefore only 16 bits of address and
 * browser go in: enough to separate visitors of one page at one moment, and shared by 65,536 addresses for each browser.
 */
export interface LineId {
  /** Of the first occurrence. */
  readonly first: string;
  /** Of the nth occurrence of identical lines, from 1. */
  nth(occurrence: number): string;
}

/** Lines with the same meaning have the same id, however they are written. */
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

/** A UUID version 8 (RFC 9562, 5.8): 48 bits of time, 74 bits of the hash. As text, since buffers fill an import's memory. */
function toUuid(millis: number, digest: string): string {
  const time = millis.toString(16).padStart(12, "0");
  const variant = (0x8 | (Number.parseInt(digest.charAt(4), 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-8${digest.slice(1, 4)}-${variant}${digest.slice(5, 8)}-${digest.slice(8, 20)}`;
}

function contentOf(line: ImportLine): string {
  const { at, type, path, query, referrer, country, visitor, ip, userAgent, derived, name, props } = line;
  const { revenue, isInteractive, engagement } = line;
  const who = visitor ?? (ip === null && userAgent === null ? null : crc32(`${ip ?? ""}\0${userAgent ?? ""}`) & 0xffff);
  const sortedProps = props && Object.entries(props).sort(([a], [b]) => (a < b ? -1 : 1));
  // Ids of lines without these fields are older than the fields.
  const rare = revenue === null && isInteractive && engagement === null ? [] : [{ revenue, isInteractive, engagement }];
  const content = [at, type, path, query, referrer, country, who, name, sortedProps, ...rare];
  if (!derived) return JSON.stringify(content);
  // Ids from before events had a host stay the same.
  const { host: _host, ...given } = derived;
  return JSON.stringify([...content, Object.values(given)]);
}
