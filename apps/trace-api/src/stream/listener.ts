import type { MatchesTrace, StreamPage } from "@waymark/traces";
import { eventId } from "./event-id.js";
import { framesOf, heartbeat } from "./frames.js";
import { covers, parseSnapshot, type Snapshot } from "./snapshot.js";

/** A page that an account's listeners share. */
export interface Batch {
  page: StreamPage;
  base: string;
  nowMs: number;
  /** All its events. */
  text: string;
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
  /** While it reads what it missed, live batches wait; undefined afterwards. */
  private missed: Batch[] | undefined = [];
  /** What it has read by itself and live batches repeat; undefined once they are past it. */
  private since: Snapshot | undefined;
  private queue: string[] = [];
  private waiting = 0;
  private wake: (() => void) | undefined;

  constructor(readonly options: ListenerOptions) {}

  deliver(batch: Batch): void {
    if (this.missed) {
      this.missed.push(batch);
      this.count(batch.text.length);
      return;
    }
    const { since } = this;
    const { matches } = this.options;
    const isOwn = since !== undefined || matches !== undefined;
    this.push(isOwn ? framesOf(batch.page, { ...batch, base: since?.text ?? batch.base, matches, since }) : batch.text);
    this.passBy(batch.page.next.base);
  }

  /** Goes on with live batches after reading everything that a snapshot shows. */
  goLive(snapshot: string): void {
    this.since = parseSnapshot(snapshot);
    const missed = this.missed ?? [];
    this.missed = undefined;
    this.waiting = 0;
    for (const batch of missed) this.deliver(batch);
  }

  /** @param base everything visible in it was delivered; undefined in the middle of a page */
  beat(base: string | undefined, nowMs: number): void {
    if (this.missed) return;
    if (base !== undefined) this.passBy(base);
    this.push(heartbeat(base === undefined || this.since ? undefined : eventId({ base }, nowMs)));
  }

  end(): void {
    this.isEnded = true;
    this.wake?.();
  }

  /** The text that came since; undefined after the end. */
  async next(): Promise<string | undefined> {
    if (this.queue.length === 0 && !this.isEnded) await new Promise<void>((resolve) => (this.wake = resolve));
    if (this.isEnded) return undefined;
    const text = this.queue.join("");
    this.queue = [];
    this.waiting = 0;
    return text;
  }

  private passBy(base: string): void {
    const passed = this.since && parseSnapshot(base);
    if (this.since && passed && covers(passed, this.since)) this.since = undefined;
  }

  private push(text: string): void {
    if (text === "" || this.isEnded) return;
    this.queue.push(text);
    this.count(text.length);
    this.wake?.();
  }

  private count(length: number): void {
    this.waiting += length;
    if (this.waiting <= maxWaiting) return;
    this.end();
    this.options.cut();
  }
}
