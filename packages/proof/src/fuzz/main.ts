import { parseArgs } from "node:util";
import { withoutRateLimits } from "../system/start-service.js";
import { onSystem } from "../system/start-system.js";
import { type ServiceName, serviceNames } from "./operations.js";
import { type FuzzResult, runFuzz } from "./run-fuzz.js";

const usage = `usage: pnpm fuzz [--requests 100000] [--seed N] [--only ${serviceNames.join("|")}] [--costly]
Sends random and hostile requests to the built services, with a Postgres and a Redis of their own, and checks each answer
against the OpenAPI documents. Exit status 1 tells of a failure.
  --costly  sends requests at the maxima of their limits, and fails if another account's small requests wait meanwhile`;

const isService = (text: string): text is ServiceName => serviceNames.some((name) => name === text);
const say = (line: string) => void process.stdout.write(`${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      requests: { type: "string", default: "100000" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      only: { type: "string" },
      costly: { type: "boolean", default: false },
      help: { type: "boolean" },
    },
  });
  const [requests, seed, { only }] = [Number(values.requests), Number(values.seed), values];
  const isUsable = Number.isSafeInteger(requests) && requests > 0 && Number.isSafeInteger(seed);
  if (values.help || !isUsable || (only !== undefined && !isService(only))) {
    say(usage);
    process.exit(values.help ? 0 : 2);
  }
  return { requests, seed, only, isCostly: values.costly };
}

function printResult({ counts, failures, memoryMib, requests }: FuzzResult): void {
  for (const [operation, byStatus] of [...counts].sort(([one], [other]) => one.localeCompare(other))) {
    const statuses = [...byStatus]
      .sort(([one], [other]) => one - other)
      .map(([status, count]) => `${status}: ${count}`);
    say(`${operation}  ${statuses.join("  ")}`);
  }
  say(`Memory at the end, MiB: ${[...memoryMib].map(([name, mib]) => `${name} ${mib}`).join(", ")}`);
  for (const { operation, fault } of failures) say(`FAILED ${operation}: ${fault}`);
  say(`${requests} requests to ${counts.size} operations, ${failures.length} failures`);
}

const options = readOptions();
say(`Seed ${options.seed}`);
const sayTroubles = (line: string) => void (/: (warn|error): /.test(line) && say(line));
await onSystem({ isDirect: true, env: withoutRateLimits, say: sayTroubles }, async (system) => {
  const result = await runFuzz(system, { ...options, say });
  printResult(result);
  process.exitCode = result.failures.length === 0 ? 0 : 1;
});
