import type { AnswerBudget } from "@waymark/service/http";
import { Counter, type Registry } from "prom-client";

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
