import type { MatchesTrace } from "@waymark/traces";
import { type Backlog, WaitingText } from "./backlog.js";
import { eventId } from "./event-id.js";
import { heartbeat } from "./frames.js";
import { covers, parseSnapshot, type Snapshot } from "./snapshot.js";

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

  /**
   * Takes its part of a live batch.
   * @param seen the snapshot that shows nothing beyond the batch; undefined in the middle of a page
   */
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
