import { readOptions } from "@waymark/local/program-options";
import { onSystem, serviceNames } from "../system/start-system.js";
import { type FuzzResult, fuzzSettings, runFuzz } from "./run-fuzz.js";

const purpose = `Sends random and hostile requests to the built services, with a Postgres and a Redis of their own, and checks each answer
against the OpenAPI documents. Exit status 1 tells of a failure.`;

const options = readOptions("pnpm fuzz", purpose, {
  requests: { takes: "NUMBER", default: 100_000, what: "how many" },
  seed: { takes: "NUMBER", what: "repeats the requests of a run" },
  only: { takes: serviceNames, what: "requests to one service" },
  costly: { what: "requests at the maxima of their limits; another account's small requests must not wait meanwhile" },
});
const { seed = 1 + (Date.now() % 1_000_000) } = options;
const say = (line: string) => void process.stdout.write(`${line}\n`);

function printResult({ counts, failures, memoryMib, requests }: FuzzResult): void {
  for (const [operation, byStatus] of [...counts].sort(([one], [other]) => one.localeCompare(other))) {
    const statuses = [...byStatus].sort(([one], [other]) => one - other);
    say(`${operation}  ${statuses.map(([status, count]) => `${status}: ${count}`).join("  ")}`);
  }
  say(`Memory at the end, MiB: ${[...memoryMib].map(([name, mib]) => `${name} ${mib}`).join(", ")}`);
  for (const { operation, fault } of failures) say(`FAILED ${operation}: ${fault}`);
  say(`${requests} requests to ${counts.size} operations, ${failures.length} failures`);
}

say(`Seed ${seed}`);
await onSystem({ isDirect: true, env: fuzzSettings, say }, async (system) => {
  const result = await runFuzz(system, { ...options, seed, say });
  printResult(result);
  process.exitCode = result.failures.length === 0 ? 0 : 1;
});
