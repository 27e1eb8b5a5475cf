import { type MatchesTrace, presentListedTrace, type StreamPage, type StreamPosition } from "@waymark/traces";
import { eventId, type ResetReason } from "./event-id.js";
import { isVisible, type Snapshot } from "./snapshot.js";

/** Chunks of a stream begin with a comment, so a block without data is one for simple readers too. */
const comment = (text: string, id?: string) => `: ${text}\n${id === undefined ? "" : `id: ${id}\n`}\n`;

/** Clients connect again after a second. */
export const opening = (id?: string) => `: waymark\nretry: 1000\n${id === undefined ? "" : `id: ${id}\n`}\n`;

/** Keeps the connection, and a quiet stream's id young. */
export const heartbeat = (id?: string) => comment("still here", id);

export const resetFrame = (reason: ResetReason, id: string) =>
  `event: reset\nid: ${id}\ndata: ${JSON.stringify({ reason })}\n\n`;

interface FrameOptions {
  /** The position before the page. */
  base: string;
  matches?: MatchesTrace | undefined;
  /** Leaves out what this snapshot shows. */
  since?: Snapshot | undefined;
  nowMs: number;
}

/** The events of a page. The last row's id is short where the page ends the window. */
export function framesOf({ rows, top, next }: StreamPage, { base, matches, since, nowMs }: FrameOptions): string {
  let text = "";
  for (const [index, row] of rows.entries()) {
    if (since && isVisible(row.txid, since)) continue;
    const trace = presentListedTrace(row);
    if (matches && !matches(trace)) continue;
    const isEnd = index === rows.length - 1 && next.rest === undefined;
    const position: StreamPosition = isEnd ? next : { base, rest: { top, txid: row.txid, id: row.id } };
    text += `event: trace\nid: ${eventId(position, nowMs)}\ndata: ${JSON.stringify(trace)}\n\n`;
  }
  return text;
}
