import { type MatchesTrace, presentListedTrace, type StreamPage, type StreamPosition } from "@waymark/traces";
import { eventId, type ResetReason } from "./event-id.js";
import type { Slice } from "./slice.js";
import { isVisible, type Snapshot } from "./snapshot.js";

/** Chunks of a stream begin with a comment, so a block without data is one for simple readers too. */
const comment = (text: string, id?: string) => `: ${text}\n${id === undefined ? "" : `id: ${id}\n`}\n`;

/** Clients connect again after a second. */
export const opening = (id?: string) => `: waymark\nretry: 1000\n${id === undefined ? "" : `id: ${id}\n`}\n`;

/** Keeps the connection, and a quiet stream's id young. */
export const heartbeat = (id?: string) => comment("still here", id);

export const resetFrame = (reason: ResetReason, id: string) =>
  `event: reset\nid: ${id}\ndata: ${JSON.stringify({ reason })}\n\n`;

interface View {
  matches?: MatchesTrace | undefined;
  /** Leaves out what this snapshot shows. */
  since?: Snapshot | undefined;
}

/** The events of a page, each written once however many listen. */
export class Frames {
  private readonly traces: ReturnType<typeof presentListedTrace>[] = [];
  private readonly lines: string[] = [];
  private whole: string | undefined;

  /** @param base the position before the page */
  constructor(
    private readonly page: StreamPage,
    private readonly base: string,
    private readonly nowMs: number,
  ) {}

  /** The text for a listener. The last row's id is short where the page ends the window. */
  async textFor({ matches, since }: View, slice: Slice, owner: string): Promise<string> {
    const { rows, top, next } = this.page;
    const base = since?.text ?? this.base;
    const isWhole = !matches && !since;
    if (isWhole && this.whole !== undefined) return this.whole;
    let text = "";
    for (const [index, row] of rows.entries()) {
      if (slice.isUsedUp()) await slice.next(owner);
      if (since && isVisible(row.txid, since)) continue;
      this.traces[index] ??= presentListedTrace(row);
      if (matches && !matches(this.traces[index])) continue;
      this.lines[index] ??= `data: ${JSON.stringify(this.traces[index])}\n\n`;
      const isEnd = index === rows.length - 1 && next.rest === undefined;
      const position: StreamPosition = isEnd ? next : { base, rest: { top, txid: row.txid, id: row.id } };
      text += `event: trace\nid: ${eventId(position, this.nowMs)}\n${this.lines[index]}`;
    }
    if (isWhole) this.whole = text;
    return text;
  }
}
