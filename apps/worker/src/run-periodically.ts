import type { Logger } from "pino";

export interface PeriodicJob {
  readonly name: string;
  readonly what: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

interface PeriodicRun {
  /** Starts no further round, and waits for the rounds under way. */
  stop(): Promise<void>;
}

/**
 * Runs each job at once, and again `everyMs` after it ended, so rounds of one job never overlap. Logs a failed round; the next
 * one comes in its time.
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
