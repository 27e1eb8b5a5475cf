import { setTimeout } from "node:timers/promises";
import { memoryOf } from "@waymark/local/process-usage";
import type { ServiceProcess } from "../src/service.fixture.js";
import { generate } from "./load.js";
import type { Stage } from "./measure.js";
import { requestsOf } from "./scenario.js";

const connections = 64;
const samples = 20;

/** Runs creates, spans and finalizations together and shows the service's memory meanwhile. */
export async function soak(stage: Stage, service: ServiceProcess, seconds: number): Promise<void> {
  // Far below the monthly limit for as long as this may run.
  await stage.pool.query(
    "INSERT INTO trace_usage SELECT id, date_trunc('month', now() AT TIME ZONE 'UTC'), -1000000000 FROM account",
  );
  const load = generate({
    port: service.port,
    connections,
    until: { seconds },
    requestsOf: (n) => {
      const lists = (["create", "span", "finalize"] as const).map((operation) =>
        requestsOf(operation, stage.accounts, n, connections),
      );
      return (lists[0] ?? []).flatMap((_, place) => lists.flatMap((list) => list[place] ?? []));
    },
  });
  for (let n = 1; n <= samples; n++) {
    await setTimeout((seconds * 1000) / samples);
    const { now, highest } = memoryOf(service.pid);
    const at = Math.round((seconds * n) / samples);
    process.stdout.write(`${at} s: ${(now / 1e6).toFixed(0)} MB, highest ${(highest / 1e6).toFixed(0)} MB\n`);
  }
  const seen = await load;
  process.stdout.write(
    `${seen.requestsPerSecond.toFixed(0)} requests/s, p99 ${seen.p99Ms.toFixed(1)} ms, ${seen.acknowledged} answered 2xx, ${seen.errors} errors\n`,
  );
  await service.end("SIGTERM");
}
