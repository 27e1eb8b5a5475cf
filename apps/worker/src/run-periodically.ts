import type { Logger } from "pino";
import { Gauge, type Registry } from "prom-client";

export interface PeriodicJob {
  readonly name: string;
  readonly everyMs: number;
  run(): Promise<unknown>;
}

/** Shows when each job last ended well, at first the worker's start, and how often it runs. */
export function observeJobs(registry: Registry, jobs: readonly PeriodicJob[]): (job: PeriodicJob) => void {
  const common = { labelNames: ["job_name" as const], registers: [registry] };
  const success = new Gauge({
    name: "waymark_job_last_success_timestamp_seconds",
    help: "When a periodic job last ended without an error",
    ...common,
  });
  const interval = new Gauge({
    name: "waymark_job_interval_seconds",
    help: "The pause between rounds of a periodic job",
    ...common,
  });
  for (const job of jobs) {
    success.setToCurrentTime({ job_name: job.name });
    interval.set({ job_name: job.name }, job.everyMs / 1_000);
  }
  return ({ name }) => success.setToCurrentTime({ job_name: name });
}

/** At once, and `everyMs` after the end, so rounds of a job never overlap. A failed round is logged. */
export function runPeriodically(jobs: readonly PeriodicJob[], log: Logger, onSuccess: (job: PeriodicJob) => void) {
  const timers = new Map<string, NodeJS.Timeout>();
  const rounds = new Map<string, Promise<void>>();
  let isStopped = false;
  const start = (job: PeriodicJob) => {
    const round = job
      .run()
      .then(
        () => onSuccess(job),
        (error: unknown) => log.warn({ err: error, job: job.name }, "a periodic job failed; it runs again in its time"),
      )
      .finally(() => {
        rounds.delete(job.name);
        if (!isStopped) timers.set(job.name, setTimeout(start, job.everyMs, job));
      });
    rounds.set(job.name, round);
  };
  for (const job of jobs) start(job);
  return {
    async stop() {
      isStopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(rounds.values());
    },
    running: () => [...rounds.keys()],
  };
}
