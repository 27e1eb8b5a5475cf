import { writeFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { runLoad, runQuiet } from "../load/agents.js";
import { auditAlerts, auditReceiver, auditRows, countOwed } from "../load/audit.js";
import { type Client, createClient } from "../load/client.js";
import { formatTable, percentile } from "../load/figures.js";
import { readHeaps, readMemory } from "../load/memory.js";
import { openStage, type Stage } from "../load/stage.js";
import { makeTenant, type Tenant } from "../load/tenant.js";
import { measureSizes } from "./sizes.query.js";
import { type Trend, trendOf } from "./trend.js";

const help = `usage: pnpm soak [--minutes 30] [--json FILE]

Runs mixed load on all services, and shows how memory, latency and the sizes of tables and indexes change.
Each line is a straight line through the samples after the first third. A change within twice the noise is none.
Ends with 1 if an acknowledged write is lost or doubled, or a request hangs or fails.
`;

const loadedTenants = 3;
/** A Pro account has 50,000 traces a month; each loop of three makes one at each pause. */
const tracesPerTenant = 40_000;
/** The load's visitors return to the same pages, so that what services remember of a day stops growing. */
const pagesPerSite = 200;
const leastPauseMs = 150;
const samplesInAll = 60;
const drainMs = 120_000;
const say = (line: string) => void process.stderr.write(`${line}\n`);

/** @returns the exit code */
async function runSoak(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "30" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (values.help || !(minutes > 0)) {
    process.stdout.write(help);
    return values.help ? 0 : 2;
  }
  const stage = await openStage({ say });
  try {
    const result = await soak(stage, minutes);
    print(result);
    if (values.json) await writeFile(values.json, `${JSON.stringify(result, null, 2)}\n`);
    const { lost, doubled, hung, wrong } = result;
    return lost.length + doubled.length + hung + Object.keys(wrong).length > 0 ? 1 : 0;
  } finally {
    await stage.stop();
  }
}

type Result = Awaited<ReturnType<typeof soak>>;

async function soak(stage: Stage, minutes: number) {
  const { urls } = stage;
  const names = Array.from({ length: loadedTenants }, (_, n) => `soak-${n + 1}`);
  const tenants = await Promise.all(names.map((name) => makeTenant(stage, name, pagesPerSite)));
  const quiet = await makeTenant(stage, "quiet");
  const client = createClient();
  const end = new AbortController();
  const pauseMs = Math.max(leastPauseMs, (3 * minutes * 60_000) / tracesPerTenant);
  const load = { client, urls, signal: end.signal, loops: 1, pauseMs };
  const running = tenants.map((tenant) => runLoad({ ...load, tenant }));
  const samples = await takeSamples({ stage, quiet, client, minutes });
  end.abort();
  await Promise.all(running);
  return { minutes, ...(await audit(stage, [...tenants, quiet])), ...describe(client), trends: trendsOf(samples) };
}

type Samples = Map<string, [hours: number, value: number][]>;

interface Sampling {
  stage: Stage;
  quiet: Tenant;
  client: Client;
  minutes: number;
}

async function takeSamples({ stage, quiet, client, minutes }: Sampling): Promise<Samples> {
  const samples: Samples = new Map();
  const startedAt = performance.now();
  const everyMs = (minutes * 60_000) / samplesInAll;
  for (let n = 1; n <= samplesInAll; n++) {
    const durations = await runQuiet(quiet, client, stage.urls.trace, AbortSignal.timeout(everyMs));
    const hours = (performance.now() - startedAt) / 3_600_000;
    const values = new Map([
      ...[...readMemory(stage.system)].map(([name, mb]) => [`memory of ${name}, MB`, mb] as const),
      ...[...(await readHeaps(stage.system))].map(([name, mb]) => [`heap of ${name}, MB`, mb] as const),
      ["median of a quiet account, ms", percentile(durations, 0.5)] as const,
      ["p99 of a quiet account, ms", percentile(durations, 0.99)] as const,
      ...(await measureSizes(stage.system.pool)),
    ]);
    for (const [name, value] of values) samples.set(name, [...(samples.get(name) ?? []), [hours, value]]);
    if (n % 6 === 0) say(`${((n / samplesInAll) * 100).toFixed(0)} %: ${client.tally.acknowledged} acknowledged`);
  }
  return samples;
}

async function audit({ system, receiver }: Stage, tenants: readonly Tenant[]) {
  for (const until = Date.now() + drainMs; (await countOwed(system.pool, tenants)) > 0; ) {
    if (Date.now() > until) break;
    await wait(500);
  }
  const found = [];
  for (const tenant of tenants) {
    found.push(await auditRows(system.pool, tenant), await auditAlerts(system.pool, tenant, receiver));
  }
  return {
    lost: found.flatMap(({ lost }) => lost),
    doubled: [...found.flatMap(({ doubled }) => doubled), ...(await auditReceiver(system.pool, tenants, receiver))],
    messages: receiver.accepted.size,
  };
}

function describe({ tally }: Client) {
  return { ...tally, wrong: Object.fromEntries(tally.wrong) };
}

function trendsOf(samples: Samples): Record<string, Trend> {
  const trends: Record<string, Trend> = {};
  for (const [name, all] of samples) trends[name] = trendOf(all.slice(Math.floor(all.length / 3)));
  return trends;
}

function print({ trends, lost, doubled, requests, acknowledged, refused, hung, wrong, messages }: Result): void {
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

process.exitCode = await runSoak(process.argv.slice(2));
