import type { AnswerBudget } from "@waymark/service/http";
import type { MatchesTrace } from "@waymark/traces";
import { Counter, type Registry } from "prom-client";
import { covers, eventId, heartbeat, parseSnapshot, type Snapshot } from "./frames.js";

/** A stream as the backlog sees it. */
interface Stream {
  readonly options: { readonly accountId: string };
  /** Bytes that its client has not taken. */
  readonly waiting: number;
  cut(): void;
}

/** Of an account these bytes are not counted: clients that read have an event under way now and then. */
const uncountedBytes = 16_384;

/** The bytes that wait for clients, as a part of the budget of answers. Without room, the streams furthest behind are cut. */
export class Backlog {
  /** All open streams. */
  readonly streams = new Set<Stream>();
  private readonly held = new Map<string, number>();
  private readonly cuts: Counter;

  constructor(
    private readonly shares: AnswerBudget["shares"],
    registry: Registry,
  ) {
    this.cuts = new Counter({
      name: "waymark_trace_streams_cut_total",
      help: "Live streams cut because their clients read too slowly",
      registers: [registry],
    });
  }

  /** Takes bytes; false without room, even after cutting streams: the account's own, or all if all together hold too much. */
  take(accountId: string, bytes: number): boolean {
    const refusal = this.change(accountId, bytes);
    if (!refusal) return true;
    const isOwn = refusal.code === "account_busy";
    const behind = [...this.streams]
      .filter(({ waiting, options }) => waiting > 0 && (!isOwn || options.accountId === accountId))
      .sort((a, b) => b.waiting - a.waiting);
    for (const stream of behind) {
      stream.cut();
      if (!this.change(accountId, bytes)) return true;
    }
    return false;
  }

  give(accountId: string, bytes: number): void {
    this.change(accountId, -bytes);
  }

  countCut(): void {
    this.cuts.inc();
  }

  private change(accountId: string, bytes: number) {
    const before = this.held.get(accountId) ?? 0;
    const after = before + bytes;
    const counted = Math.max(0, after - uncountedBytes) - Math.max(0, before - uncountedBytes);
    const refusal = counted > 0 ? this.shares.take(accountId, counted) : undefined;
    if (refusal) return refusal;
    if (counted < 0) this.shares.give(accountId, -counted);
    if (after > 0) this.held.set(accountId, after);
    else this.held.delete(accountId);
    return undefined;
  }
}

/** Text that may wait for many clients of an account and counts once. */
export class WaitingText {
  readonly bytes: Buffer;
  private holders = 0;

  constructor(
    text: string,
    private readonly accountId: string,
    private readonly backlog: Backlog,
  ) {
    this.bytes = Buffer.from(text);
  }

  /** False without room. */
  hold(): boolean {
    if (this.holders === 0 && !this.backlog.take(this.accountId, this.bytes.length)) return false;
    this.holders++;
    return true;
  }

  release(): void {
    if (--this.holders === 0) this.backlog.give(this.accountId, this.bytes.length);
  }
}

export interface ListenerOptions {
  accountId: string;
  matches?: MatchesTrace | undefined;
  /** Whether the key is still good. */
  isAllowed(): unknown;
  /** Ends the connection of a client too slow to read. */
  cut(): void;
}

/** Text waiting for one client; a client further behind is cut and resumes by its last id. */
const maxWaiting = 2 * 1_048_576;

/** One connection's part of a stream: what it may see, and the text waiting for it. */
export class Listener {
  isEnded = false;
  /** Before, it reads what it missed from the database. */
  isLive = false;
  /** What it has read by itself and live batches repeat; undefined once they are past it. */
  since: Snapshot | undefined;
  /** Bytes that its client has not taken. */
  waiting = 0;
  /** Whether live batches passed by since it began its last reading. */
  private isBehind = false;
  private readonly queue: WaitingText[] = [];
  /** Handed to the connection, which takes the next one once this one is out. */
  private taken: WaitingText | undefined;
  private wake: (() => void) | undefined;

  constructor(
    readonly options: ListenerOptions,
    private readonly backlog: Backlog,
  ) {}

  /** Before each reading of what it missed. */
  beginReading(): void {
    this.isBehind = false;
  }

  /** Goes on with live batches after reading everything that a snapshot shows; false if one passed by meanwhile. */
  goLive(snapshot: string): boolean {
    if (this.isBehind) return false;
    this.since = parseSnapshot(snapshot);
    this.isLive = true;
    return true;
  }

  /** @param seen the snapshot that shows nothing beyond the batch; undefined in the middle of a page */
  deliver(text: WaitingText | undefined, seen: Snapshot | undefined): void {
    if (!this.isLive) this.isBehind = true;
    else if (text) this.push(text);
    this.passBy(seen);
  }

  /** @param base everything visible in it was delivered; undefined in the middle of a page */
  beat(base: string | undefined, nowMs: number): void {
    this.passBy(base === undefined ? undefined : parseSnapshot(base));
    // A client that has not taken the last text needs no sign of life.
    if (!this.isLive || this.waiting > 0) return;
    const id = base === undefined || this.since ? undefined : eventId({ base }, nowMs);
    this.push(new WaitingText(heartbeat(id), this.options.accountId, this.backlog));
  }

  end(): void {
    this.isEnded = true;
    for (const text of this.queue.splice(0)) this.letGo(text);
    this.wake?.();
  }

  /** Ends the stream of a client too slow to read, also what the connection holds. */
  cut(): void {
    if (this.isEnded) return;
    this.backlog.countCut();
    this.close();
    this.options.cut();
  }

  /** Ends when nobody reads any more. */
  close(): void {
    this.end();
    this.finish();
  }

  /** The text that came since; undefined after the end. */
  async next(): Promise<Buffer | undefined> {
    this.finish();
    if (this.queue.length === 0 && !this.isEnded) await new Promise<void>((resolve) => (this.wake = resolve));
    this.taken = this.queue.shift();
    return this.taken?.bytes;
  }

  /** Counts a text of its own until the next one; undefined after the end. */
  own(text: string): Buffer | undefined {
    this.finish();
    const own = new WaitingText(text, this.options.accountId, this.backlog);
    if (!this.keep(own)) return undefined;
    this.taken = own;
    return own.bytes;
  }

  private passBy(seen: Snapshot | undefined): void {
    if (this.since && seen && covers(seen, this.since)) this.since = undefined;
  }

  private push(text: WaitingText): void {
    // One text alone may be longer.
    if (this.queue.length > 0 && this.waiting + text.bytes.length > maxWaiting) this.cut();
    if (!this.keep(text)) return;
    this.queue.push(text);
    this.wake?.();
  }

  private keep(text: WaitingText): boolean {
    if (this.isEnded) return false;
    if (!text.hold()) this.cut();
    // Making room may have cut this one.
    else if (this.isEnded) text.release();
    else this.waiting += text.bytes.length;
    return !this.isEnded;
  }

  private finish(): void {
    if (this.taken) this.letGo(this.taken);
    this.taken = undefined;
  }

  private letGo(text: WaitingText): void {
    this.waiting -= text.bytes.length;
    text.release();
  }
}
