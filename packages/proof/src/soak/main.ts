import { writeFile } from "node:fs/promises";
import { formatTable, percentile } from "@waymark/local/figures";
import { readOptions } from "@waymark/local/program-options";
import { runLoad, runQuiet } from "../load/agents.js";
import { auditAll } from "../load/audit.js";
import { type Client, createClient } from "../load/client.js";
import { readHeaps, readMemory } from "../load/memory.js";
import { makeTenant, type Tenant } from "../load/tenant.js";
import { onSystem, type System } from "../system/start-system.js";
import { measureSizes } from "./sizes.query.js";
import { type Trend, trendOf } from "./trend.js";

const purpose = `Runs mixed load on all services, and shows how memory, latency and the sizes of tables and indexes change.
Each line is a straight line through the samples after the first third. A change within twice the noise is none.
Ends with 1 if an acknowledged write is lost or doubled, or a request hangs or fails.`;

const loadedTenants = 3;
/** A Pro account has 50,000 traces a month; each loop of three makes one at each pause. */
const tracesPerTenant = 40_000;
/** The load's visitors return to the same pages, so that what services remember of a day stops growing. */
const pagesPerSite = 200;
const leastPauseMs = 150;
const samplesInAll = 60;
const say = (line: string) => void process.stderr.write(`${line}\n`);

async function soak(system: System, minutes: number) {
  const names = Array.from({ length: loadedTenants }, (_, n) => `soak-${n + 1}`);
  const tenants = await Promise.all(names.map((name) => makeTenant(system, name, pagesPerSite)));
  const quiet = await makeTenant(system, "quiet");
  const client = createClient();
  const end = new AbortController();
  const pauseMs = Math.max(leastPauseMs, (3 * minutes * 60_000) / tracesPerTenant);
  const load = { client, url: system.url, signal: end.signal, loops: 1, pauseMs };
  const running = tenants.map((tenant) => runLoad({ ...load, tenant }));
  const samples = await takeSamples(system, { quiet, client, minutes });
  end.abort();
  await Promise.all(running);
  const { findings, strays } = await auditAll(system, [...tenants, quiet]);
  return {
    minutes,
    lost: findings.flatMap(({ lost }) => lost),
    doubled: [...findings.flatMap(({ doubled }) => doubled), ...strays],
    messages: system.receiver.accepted.size,
    ...client.tally,
    trends: trendsOf(samples),
  };
}

type Samples = Map<string, [hours: number, value: number][]>;

interface Sampling {
  quiet: Tenant;
  client: Client;
  minutes: number;
}

async function takeSamples(system: System, { quiet, client, minutes }: Sampling): Promise<Samples> {
  const samples: Samples = new Map();
  const startedAt = performance.now();
  const everyMs = (minutes * 60_000) / samplesInAll;
  for (let n = 1; n <= samplesInAll; n++) {
    const signal = AbortSignal.timeout(everyMs);
    const durations = await runQuiet({ tenant: quiet, client, url: system.url, signal });
    const hours = (performance.now() - startedAt) / 3_600_000;
    const values = new Map([
      ...[...readMemory(system)].map(([name, mb]) => [`memory of ${name}, MB`, mb] as const),
      ...[...(await readHeaps(system))].map(([name, mb]) => [`heap of ${name}, MB`, mb] as const),
      ["median of a quiet account, ms", percentile(durations, 0.5)] as const,
      ["p99 of a quiet account, ms", percentile(durations, 0.99)] as const,
      ...(await measureSizes(system.pool)),
    ]);
    for (const [name, value] of values) samples.set(name, [...(samples.get(name) ?? []), [hours, value]]);
    if (n % 6 === 0) say(`${((n / samplesInAll) * 100).toFixed(0)} %: ${client.tally.acknowledged} acknowledged`);
  }
  return samples;
}

function trendsOf(samples: Samples): Record<string, Trend> {
  const trends: Record<string, Trend> = {};
  for (const [name, all] of samples) trends[name] = trendOf(all.slice(Math.floor(all.length / 3)));
  return trends;
}

function print(result: Awaited<ReturnType<typeof soak>>): void {
  const { trends, lost, doubled, requests, acknowledged, refused, hung, wrong, messages } = result;
  const cell = (value: number) => (Math.abs(value) < 100 ? value.toFixed(1) : value.toFixed(0));
  const rows = Object.entries(trends).map(([name, { first, last, slopePerHour, change, noise }]) => {
    const isWithinNoise = Math.abs(change) <= 2 * noise;
    return [name, ...[first, last, slopePerHour, noise].map(cell), isWithinNoise ? "" : change > 0 ? "grows" : "falls"];
  });
  process.stdout.write(formatTable([["measure", "after a third", "at the end", "per hour", "noise", ""], ...rows]));
  const summary = `${requests} requests, ${acknowledged} acknowledged, ${refused} refused, ${hung} hung, ${messages} mails and webhooks`;
  process.stdout.write(`\n${summary}; ${lost.length} lost, ${doubled.length} doubled\n`);
  for (const line of [...lost.slice(0, 10), ...doubled.slice(0, 10)]) process.stdout.write(`  ${line}\n`);
  for (const [what, times] of Object.entries(wrong)) process.stdout.write(`  ${times} answers ${what}\n`);
}

const { minutes, json } = readOptions("pnpm soak", purpose, {
  minutes: { takes: "NUMBER", default: 30, what: "how long the load runs" },
  json: { takes: "FILE", what: "also writes the results to a file" },
});
await onSystem({ say }, async (system) => {
  const result = await soak(system, minutes);
  print(result);
  if (json) await writeFile(json, `${JSON.stringify(result, null, 2)}\n`);
  const { lost, doubled, hung, wrong } = result;
  process.exitCode = lost.length + doubled.length + hung + Object.keys(wrong).length > 0 ? 1 : 0;
});
