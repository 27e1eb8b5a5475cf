/** Tests of one package whose paths have one of the patterns; all without patterns. */
export interface Suite {
  readonly folder: string;
  readonly patterns: readonly string[];
}

const suite = (folder: string, ...patterns: string[]): Suite => ({ folder, patterns });

/** For each tested package the suites that judge it, the quickest first: a mutant dies at the first failure. */
export const judges: Readonly<Record<string, readonly Suite[]>> = {
  auth: [
    suite("packages/auth"),
    suite("apps/analytics-api", "src/app.test", "src/shared-keys"),
    suite("apps/trace-api", "service-tests/app.test", "limits/"),
  ],
  plan: [
    suite("packages/plan"),
    suite("packages/service", "src/limits/"),
    suite("apps/analytics-api", "src/app.test", "src/rate-limit"),
    suite("apps/trace-api", "service-tests/app.test", "limits/"),
  ],
  "web-stats": [
    suite("packages/web-stats"),
    suite("apps/analytics-api", "src/stats", "src/goals", "src/events", "src/realtime"),
    suite("apps/collector", "src/event", "src/app.test", "src/hostile"),
    suite("apps/worker", "src/retention"),
    suite("packages/cli", "commands/import", "src/imports"),
  ],
  traces: [
    suite("packages/traces"),
    suite(
      "apps/trace-api",
      ...["traces", "spans", "agents", "failures", "usage", "scores", "stream"].map((it) => `src/${it}/`),
    ),
    suite("apps/trace-api", "src/model-calls", "src/otlp/otlp.route", "src/otlp/otlp-recordings"),
    suite("apps/worker", "src/blocks", "src/model-calls"),
    suite("apps/dashboard", "src/trace/get-", "src/traces/.*route", "src/agents/.*route", "src/failures/.*route"),
  ],
  alerts: [
    suite("packages/alerts"),
    suite(
      "apps/worker",
      "src/alerts",
      "src/channels",
      "src/rules",
      "src/summaries",
      "src/stale-traces",
      "src/retention",
    ),
    suite("apps/trace-api", "traces/finalize", "traces/alert-queue"),
    suite("packages/cli", "commands/channels", "commands/mutes"),
    suite("apps/dashboard", "src/alerts/.*route", "src/channels/.*route"),
  ],
};
