import { WaymarkLossError } from "./errors.js";
import { messageOf } from "./texts.js";

export interface Counts {
  traces: number;
  spans: number;
}

export interface ReportOptions {
  onError: ((error: WaymarkLossError) => void) | undefined;
  onWarning: (message: string) => void;
  /** Where the records go, for the messages. */
  address: string;
}

const maxNames = 5;
const maxCauses = 20;
/** Losses of one time are told together: after half a second first, at most each minute while they go on. So are failures. */
const [firstWaitMs, longestWaitMs] = [500, 60_000];

interface Collected extends Counts {
  cause: unknown;
  names: Set<string>;
}

/** Tells the program's author what goes wrong: once when nothing arrives, once when it does again, and each loss. */
export class Reports {
  /** Why the last attempt failed, while attempts fail. */
  failure: string | undefined;
  private readonly sum: Counts = { traces: 0, spans: 0 };
  private readonly collected = new Map<string, Collected>();
  private waitMs = firstWaitMs;
  private reportedAtMs = Number.NEGATIVE_INFINITY;
  private dueAtMs = Number.POSITIVE_INFINITY;
  private isFailureTold = false;
  private quietUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly options: ReportOptions,
    private readonly later: (waitMs: number) => void,
  ) {}

  get total(): Readonly<Counts> {
    return this.sum;
  }

  get areWaiting(): boolean {
    return this.collected.size > 0;
  }

  onAttempt(error: unknown): void {
    this.failure = error === undefined ? undefined : messageOf(error);
    const now = performance.now();
    if (this.failure !== undefined && !this.isFailureTold && now >= this.quietUntilMs) {
      [this.isFailureTold, this.quietUntilMs] = [true, now + longestWaitMs];
      this.warn(`no records arrive${this.at(this.failure)}; they wait: ${this.failure}`);
    } else if (this.failure === undefined && this.isFailureTold) {
      this.isFailureTold = false;
      this.warn(`records arrive again at ${this.options.address}`);
    }
  }

  lose(traceName: string, { traces = 0, spans = 0 }: Partial<Counts>, cause: unknown): void {
    if (this.collected.size === 0) {
      const now = performance.now();
      if (now - this.reportedAtMs > 2 * this.waitMs) this.waitMs = firstWaitMs;
      this.dueAtMs = now + this.waitMs;
      this.later(this.waitMs);
    }
    const message = messageOf(cause);
    const key = this.collected.has(message) || this.collected.size < maxCauses ? message : "other reasons";
    const entry = this.collected.get(key) ?? { traces: 0, spans: 0, names: new Set(), cause };
    this.collected.set(key, entry);
    if (entry.names.size <= maxNames) entry.names.add(traceName);
    for (const counts of [entry, this.sum]) {
      counts.traces += traces;
      counts.spans += spans;
    }
  }

  reportDue(now: number): void {
    if (now >= this.dueAtMs) this.report();
  }

  report(): void {
    if (this.collected.size === 0) return;
    this.waitMs = Math.min(longestWaitMs, 2 * this.waitMs);
    [this.reportedAtMs, this.dueAtMs] = [performance.now(), Number.POSITIVE_INFINITY];
    const reported = [...this.collected];
    this.collected.clear();
    for (const [message, { names, cause, traces, spans }] of reported) {
      const listed = [...names].slice(0, maxNames);
      const of =
        listed.map((name) => `"${name.slice(0, 60)}"`).join(", ") + (names.size > maxNames ? " and others" : "");
      const text = `${traces} traces and ${spans} spans could not be recorded${this.at(message)} (${of}): ${message}`;
      this.tell(new WaymarkLossError(text, { traces, spans, names: listed }, { cause }));
    }
  }

  private tell(error: WaymarkLossError): void {
    const { onError } = this.options;
    try {
      if (onError) onError(error);
      else this.warn(error.message);
    } catch {
      // As in `warn`.
    }
  }

  private warn(message: string): void {
    try {
      this.options.onWarning(`Waymark: ${message}`);
    } catch {
      // An exception of the user's callback must not stop the recorded program.
    }
  }

  /** The address, unless the message has it. */
  private at(message: string): string {
    const { address } = this.options;
    return message.includes(address) ? "" : ` at ${address}`;
  }
}
