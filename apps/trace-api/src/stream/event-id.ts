import { isUuid } from "@waymark/database";
import type { StreamPosition } from "@waymark/traces";
import { parseSnapshot } from "./snapshot.js";

/** Ids are good for this long. */
const maxAgeSeconds = 24 * 3_600;

/** Writes the id of an event: the second of its reading and the position after it. */
export function eventId({ base, rest }: StreamPosition, nowMs: number): string {
  const parts = [Math.floor(nowMs / 1_000).toString(36), base];
  if (rest) parts.push(rest.top, rest.txid, rest.id);
  return parts.join(".");
}

/** Why a stream cannot go on after an id. */
export type ResetReason = "malformed" | "too_old" | "unknown";

/** Reads the position of an id. */
export function readEventId(id: string, nowMs: number): StreamPosition | ResetReason {
  const [second = "", base = "", top, txid, trace, ...more] = id.split(".");
  if (!/^[0-9a-z]{1,8}$/.test(second) || !parseSnapshot(base) || more.length > 0) return "malformed";
  const age = Math.floor(nowMs / 1_000) - Number.parseInt(second, 36);
  if (age > maxAgeSeconds) return "too_old";
  if (top === undefined) return { base };
  const isWhole = parseSnapshot(top) && /^\d{1,18}$/.test(txid ?? "") && isUuid(trace ?? "");
  return isWhole && txid !== undefined && trace !== undefined ? { base, rest: { top, txid, id: trace } } : "malformed";
}
