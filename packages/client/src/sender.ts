import { createAlarm } from "./alarm.js";
import { WaymarkApiError, type WaymarkError } from "./errors.js";
import { createNodeSend } from "./node-send.js";
import type { Reports } from "./reports.js";
import { resolveRetryLimits, retryDelayMs } from "./retry.js";
import type { Job, TraceQueue } from "./trace-queue.js";
import {
  type Connection,
  type ConnectionOptions,
  defaultAttemptTimeoutMs,
  delayAfter,
  type Failure,
} from "./transport.js";

interface SenderOptions extends ConnectionOptions {
  maxConcurrentRequests: number;
  flushIntervalMs: number;
}

/** A request that was not answered or refused this long after its time is another's to send: its runtime has dropped it. */
const graceMs = 1_000;
const defaultGiveUpMs = 60_000;

interface Lease {
  readonly job: Job;
  readonly untilMs: number;
  readonly stop: AbortController;
}

/**
 * Sends the requests of all traces, some at the same time. Its state is data with times rather than promises, because a runtime
 * such as Cloudflare's drops timers and requests with the visit that began them, and no promise tells.
 */
export class Sender {
  readonly queues = new Set<TraceQueue>();
  private readonly ready = new Set<TraceQueue>();
  private readonly leases = new Set<Lease>();
  private delayed: Job[] = [];
  private waiters: (() => void)[] = [];
  private pausedUntilMs = 0;
  private failuresInRow = 0;
  /** When spans that wait for others go out. */
  private tickAtMs = Number.POSITIVE_INFINITY;
  private readonly limits;
  private readonly attemptTimeoutMs;
  private readonly send;
  private readonly alarm = createAlarm(() => {
    this.reports.reportDue(performance.now());
    this.pump();
  });

  constructor(
    private readonly connection: Connection,
    private readonly options: SenderOptions,
    private readonly reports: Reports,
  ) {
    this.limits = resolveRetryLimits(options.retry);
    this.attemptTimeoutMs = options.attemptTimeoutMs ?? defaultAttemptTimeoutMs;
    this.send = options.fetch ? undefined : createNodeSend();
  }

  /** The alarm calls back in a later turn of the event loop: recording itself sends nothing. */
  onWork(queue: TraceQueue, isUrgent: boolean): void {
    this.queues.add(queue);
    if (isUrgent) this.ready.add(queue);
    const now = performance.now();
    this.tickAtMs = Math.min(this.tickAtMs, now + this.options.flushIntervalMs);
    this.alarm.at(isUrgent ? now : this.tickAtMs);
  }

  wakeIn(ms: number): void {
    this.alarm.at(performance.now() + ms);
  }

  /** Sends what may leave now, without waiting for more. */
  hurry(): void {
    this.readyAll();
    this.pump();
  }

  /** Never on Cloudflare, where a change of one visit may not wake another: it asks by its own clock. */
  nextChange(): Promise<void> {
    const isCloudflare = Reflect.get(globalThis, "navigator")?.userAgent === "Cloudflare-Workers";
    return new Promise((resolve) => {
      if (!isCloudflare) this.waiters.push(resolve);
    });
  }

  /** Aborts all requests and loses what they carry, and what waits. */
  loseAll(reason: WaymarkError): void {
    const running = [...this.leases];
    this.leases.clear();
    const jobs = [...running.map(({ job }) => job), ...this.delayed.splice(0)];
    for (const { stop } of running) stop.abort(reason);
    for (const job of jobs) job.queue.fail(job, reason);
    for (const queue of this.queues) queue.loseRest(reason);
    this.queues.clear();
    this.ready.clear();
    this.tellWaiters();
  }

  private pump(): void {
    const now = performance.now();
    for (const lease of this.leases)
      if (lease.untilMs < now && this.leases.delete(lease)) this.delayed.push({ ...lease.job, dueAtMs: now });
    if (now >= this.tickAtMs) this.readyAll();
    if (now >= this.pausedUntilMs) this.start(now);
    this.alarm.at(Math.min(this.tickAtMs, this.nextAtMs(now)));
  }

  private nextAtMs(now: number): number {
    if (this.ready.size + this.delayed.length === 0) return Number.POSITIVE_INFINITY;
    if (this.places() <= 0) return leastOf(Array.from(this.leases, ({ untilMs }) => untilMs));
    return Math.max(
      this.pausedUntilMs,
      this.ready.size > 0 ? now : leastOf(this.delayed.map(({ dueAtMs }) => dueAtMs)),
    );
  }

  private places(): number {
    return this.options.maxConcurrentRequests - this.leases.size;
  }

  private readyAll(): void {
    this.tickAtMs = Number.POSITIVE_INFINITY;
    for (const queue of this.queues) this.ready.add(queue);
  }

  private start(now: number): void {
    const due = this.delayed.filter(({ dueAtMs }) => dueAtMs <= now).slice(0, Math.max(0, this.places()));
    const again = new Set(due);
    if (again.size > 0) this.delayed = this.delayed.filter((job) => !again.has(job));
    for (const job of again) void this.attempt(job, now);
    for (const queue of this.ready) {
      while (this.places() > 0) {
        const job = queue.next();
        if (!job) break;
        void this.attempt(job, now);
      }
      if (this.places() <= 0) return;
      this.ready.delete(queue);
    }
  }

  private async attempt(job: Job, now: number): Promise<void> {
    const lease = { job, untilMs: now + this.attemptTimeoutMs + graceMs, stop: new AbortController() };
    this.leases.add(lease);
    if (job.attempts++ === 0) job.firstAtMs = now;
    const { method, path, isWhole = false, idempotencyKey } = job;
    const call = { method, path, isWhole, body: job.queue.bodyOf(job), ...(idempotencyKey && { idempotencyKey }) };
    const outcome = await this.connection.attempt(
      call,
      {
        attempt: job.attempts,
        signal: lease.stop.signal,
        headTimeoutMs: this.attemptTimeoutMs,
        timeLeftMs: this.attemptTimeoutMs,
        isIdle: true,
      },
      this.send,
    );
    // Given up, or sent again by another: a repeat of the same key stores nothing twice.
    if (!this.leases.delete(lease)) return;
    if ("error" in outcome) this.onFailure(job, outcome.error);
    else {
      [this.failuresInRow, this.pausedUntilMs] = [0, 0];
      this.reports.onAttempt(undefined);
      job.queue.succeed(job, outcome.body);
    }
    const { counts } = job.queue;
    if (counts.settled === counts.added) this.queues.delete(job.queue);
    this.pump();
    this.tellWaiters();
  }

  private onFailure(job: Job, error: Failure): void {
    const now = performance.now();
    const delayMs = delayAfter(error, this.limits, job.attempts);
    if (delayMs !== null) this.reports.onAttempt(error);
    if (!(error instanceof WaymarkApiError)) {
      // Nothing of another trace would arrive either.
      const endless = { ...this.limits, retries: Number.POSITIVE_INFINITY };
      this.pausedUntilMs = now + (retryDelayMs(endless, ++this.failuresInRow, null) ?? 0);
    }
    const giveUpAtMs = job.firstAtMs + (this.options.timeoutMs ?? defaultGiveUpMs);
    if (delayMs === null || now + delayMs >= giveUpAtMs) job.queue.fail(job, error);
    else this.delayed.push(Object.assign(job, { dueAtMs: now + delayMs }));
  }

  private tellWaiters(): void {
    for (const wake of this.waiters.splice(0)) wake();
  }
}

function leastOf(times: readonly number[]): number {
  return times.reduce((least, time) => Math.min(least, time), Number.POSITIVE_INFINITY);
}
