import type { Logger } from "pino";

/** Work that is done again and again. */
export interface PeriodicJob {
  readonly name: string;
  readonly what: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

/** Jobs that are being run periodically. */
export interface PeriodicRun {
  /** Starts no further round, and waits for those that are going on. */
  stop(): Promise<void>;
}

/**
 * Runs each job at once, and again so long after it ended: rounds of one job never overlap. A round that fails is logged, and
 * the next one comes in its time.
 */
export function runPeriodically(jobs: readonly PeriodicJob[], log: Logger): PeriodicRun {
  const timers = new Map<string, NodeJS.Timeout>();
  const rounds = new Set<Promise<void>>();
  let isStopped = false;
  const start = (job: PeriodicJob) => {
    const round = job
      .run()
      .then(
        () => undefined,
        (error: unknown) => log.warn({ err: error, job: job.name }, "a periodic job failed; it runs again in its time"),
      )
      .finally(() => {
        rounds.delete(round);
        if (!isStopped) timers.set(job.name, setTimeout(start, job.everyMs, job));
      });
    rounds.add(round);
  };
  for (const job of jobs) start(job);
  return {
    async stop() {
      isStopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(rounds);
    },
  };
}
