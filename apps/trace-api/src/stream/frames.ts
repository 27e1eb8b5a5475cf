import { isUuid } from "@waymark/database";
import type { createTurns } from "@waymark/service/http";
import { type MatchesTrace, presentListedTrace, type StreamPage, type StreamPosition } from "@waymark/traces";

/** A snapshot of Postgres, `xmin:xmax:xip,…`: the transactions that a statement sees. */
export interface Snapshot {
  readonly text: string;
  /** The oldest open transaction. */
  readonly xmin: bigint;
  /** The first transaction that had not begun. */
  readonly xmax: bigint;
  readonly open: ReadonlySet<string>;
}

const pattern = /^(\d{1,19}):(\d{1,19}):((?:\d{1,19}(?:,\d{1,19})*)?)$/;
const maxId = 2n ** 63n;

/** Undefined for text that is none. Postgres refuses what this refuses, so nothing else reaches a statement. */
export function parseSnapshot(text: string): Snapshot | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [xmin, xmax] = [BigInt(match[1] ?? 0), BigInt(match[2] ?? 0)];
  const open = match[3] ? match[3].split(",") : [];
  let last = xmin - 1n;
  for (const each of open) {
    if (BigInt(each) <= last || BigInt(each) >= xmax) return undefined;
    last = BigInt(each);
  }
  return xmin > 0n && xmin <= xmax && xmax < maxId ? { text, xmin, xmax, open: new Set(open) } : undefined;
}

/** Whether a snapshot shows the writes of a transaction. */
export function isVisible(txid: string, { xmin, xmax, open }: Snapshot): boolean {
  const id = BigInt(txid);
  return id < xmin || (id < xmax && !open.has(txid));
}

/** Whether a snapshot shows all that an earlier one shows. */
export function covers(later: Snapshot, earlier: Snapshot): boolean {
  if (later.xmax < earlier.xmax) return false;
  return [...later.open].every((id) => BigInt(id) >= earlier.xmax || earlier.open.has(id));
}

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

const sliceMs = 8;

/** Work that holds the event loop for 8 ms at most before others have it; owners take turns. */
export class Slice {
  private until = 0;

  constructor(
    private readonly turn: ReturnType<typeof createTurns>,
    private readonly now = () => performance.now(),
  ) {}

  isUsedUp(): boolean {
    return this.now() >= this.until;
  }

  /** Resolves when the owner may go on. */
  async next(owner: string): Promise<void> {
    await this.turn(owner);
    this.until = this.now() + sliceMs;
  }
}

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
