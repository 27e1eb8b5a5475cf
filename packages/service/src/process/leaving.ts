import { setTimeout as wait } from "node:timers/promises";

const askedGaps = 8;
/** Whoever asks more seldom leads no requests here. */
const longestGapMs = 5_000;
/** HAProxy takes a server out after three failures by default. */
const failuresOfProxy = 3;
/** With the time for requests in hand less than the 25 seconds of a stop. */
const longestPauseMs = 10_000;

/** Tells of a stop whoever asks `/ready` regularly: 503 for three of its gaps, at most ten seconds, while requests go on. */
export class Leaving {
  private readonly asks: number[] = [];
  private isTold = false;

  get isLeaving(): boolean {
    return this.isTold;
  }

  noteAsk(): void {
    if (this.asks.push(performance.now()) > askedGaps) this.asks.shift();
  }

  async tell(): Promise<void> {
    this.isTold = true;
    const times = [...this.asks, performance.now()];
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? time));
    const sinceLast = gaps.pop() ?? 0;
    const usual = gaps.filter((gap) => gap <= longestGapMs);
    const pauseMs = Math.min(longestPauseMs, failuresOfProxy * Math.max(0, ...usual));
    if (sinceLast < pauseMs) await wait(pauseMs);
  }
}
