#!/usr/bin/env node
// `pnpm bench analytics`: how fast visits come in, and how fast answers go out, beside baselines of the same run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createApiKey } from "@waymark/auth";
import { createPool, createUuidV7, migrate } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import { measureCollector } from "./measure-collector.mjs";
import { measureStats } from "./measure-stats.mjs";

const help = `Loads a small and a large site, and measures import, collector and statistics beside baselines of the same run.

usage: pnpm bench analytics [--events N] [--seconds N] [--json FILE]

  --events   visits of the large site (10000000, which takes some ten minutes and 8 GB of disk)
  --seconds  how long each load on the collector lasts (10)
  --json     also write the results to a file
`;
const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== "--"),
  options: {
    events: { type: "string", default: "10000000" },
    seconds: { type: "string", default: "10" },
    json: { type: "string" },
    help: { type: "boolean" },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}

const root = fileURLToPath(new URL("../../../", import.meta.url));
const smallEvents = 10_000;
const largeEvents = Number(values.events);
const say = (text) => process.stderr.write(`${text}\n`);

async function addSites(pool) {
  const uuid = createUuidV7();
  const accountId = uuid();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, 'bench@localhost', 'pro')", [accountId]);
  const sites = [];
  for (const domain of ["small.example", "large.example", "live.example"]) {
    const id = uuid();
    await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, $3)", [
      id,
      accountId,
      domain,
    ]);
    sites.push({ id, domain });
  }
  // Each key has its own 60 requests a minute.
  const keys = Array.from({ length: 40 }, () => createApiKey("analytics"));
  for (const { hash, hint } of keys) {
    await pool.query(
      "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, 'analytics', 'b', $3, $4)",
      [uuid(), accountId, hash, hint],
    );
  }
  return { small: sites[0], large: sites[1], live: sites[2], keys: keys.map(({ key }) => key) };
}

/** Imports made-up visits by the command line, as a user would, and watches its memory. */
async function measureImport(databaseUrl, site, events) {
  const generator = fileURLToPath(new URL("visits.mjs", import.meta.url));
  const visits = spawn(process.execPath, [generator, events, Date.now(), site.domain], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const before = process.hrtime.bigint();
  const cli = spawn(
    process.execPath,
    [join(root, "packages/cli/bin/waymark.mjs"), "import", "--site", site.id, "--file", "-", "--json"],
    { env: { ...process.env, DATABASE_URL: databaseUrl }, stdio: ["pipe", "pipe", "inherit"] },
  );
  visits.stdout.pipe(cli.stdin);
  let output = "";
  cli.stdout.on("data", (chunk) => (output += chunk));
  let peakBytes = 0;
  const watch = setInterval(() => (peakBytes = Math.max(peakBytes, peakOf(cli.pid))), 200);
  const [code] = await once(cli, "close");
  clearInterval(watch);
  const seconds = Number(process.hrtime.bigint() - before) / 1e9;
  const { imported } = code === 0 ? JSON.parse(output) : {};
  if (imported !== events) throw new Error(`The import ended with ${code}: ${output}`);
  return { events, seconds, eventsPerSecond: events / seconds, peakMb: peakBytes / 1e6 };
}

/** The most memory that a process had, as Linux counts it; 0 elsewhere. */
function peakOf(pid) {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const folder = await mkdtemp(join(tmpdir(), "waymark-bench-"));
const postgres = await startEmbeddedPostgres({ folder: join(folder, "postgres") });
let pool;
try {
  const databaseUrl = postgres.connectionString;
  await migrate(databaseUrl);
  pool = createPool({
    connectionString: databaseUrl,
    maxConnections: 2,
    applicationName: "bench",
    statementTimeoutMs: 0,
  });
  const sites = await addSites(pool);
  say(`importing ${smallEvents} visits ...`);
  await measureImport(databaseUrl, sites.small, smallEvents);
  say(`importing ${largeEvents} visits ...`);
  const imports = await measureImport(databaseUrl, sites.large, largeEvents);
  say("reading statistics ...");
  await pool.query("VACUUM (ANALYZE) daily_stat, daily_event");
  await pool.query("ANALYZE event");
  const stats = await measureStats({ root, databaseUrl, pool, sites, say });
  say("loading the collector ...");
  const collector = await measureCollector({
    root,
    databaseUrl,
    pool,
    site: sites.live,
    seconds: Number(values.seconds),
    say,
  });
  const result = {
    machine: `${cpus().length} CPUs, ${cpus()[0]?.model}`,
    node: process.version,
    imports,
    stats,
    collector,
  };
  print(result);
  if (values.json) await writeFile(values.json, `${JSON.stringify(result, null, 2)}\n`);
} finally {
  await pool?.end();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}

function print({ machine, node, imports, stats, collector }) {
  const n = (value, digits = 0) =>
    value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits });
  const rows = [
    [`import of ${n(imports.events)} visits`, `${n(imports.eventsPerSecond)} events/s`, `peak ${n(imports.peakMb)} MB`],
    [],
    ["30-day stats and events", "p50", "p99"],
    ...stats.rows.map(({ what, p50Ms, p99Ms }) => [
      what,
      `${n(p50Ms, 2)} ms`,
      p99Ms === null ? "" : `${n(p99Ms, 2)} ms`,
    ]),
    ["large / small, p50", n(stats.largeToSmall, 2)],
    ["raw count / rollups, large, p50", n(stats.rawToRollup)],
    [],
    ["collector, 64 connections", "requests/s", "p50", "p99", "errors"],
    ...collector.rows.map(({ what, perSecond, p50Ms, p99Ms, errors }) => [
      what,
      n(perSecond),
      `${n(p50Ms, 1)} ms`,
      `${n(p99Ms, 1)} ms`,
      n(errors),
    ]),
    ["collector / express-null", n(collector.toExpressNull, 2)],
    ["collector / same app without a store", n(collector.toAppNull, 2)],
    ["202s answered, events in the database", n(collector.answered), n(collector.recorded)],
  ];
  const width = Math.max(...rows.map(([first = ""]) => first.length)) + 2;
  const lines = rows.map(([first = "", ...rest]) =>
    `${first.padEnd(width)}${rest.map((cell) => cell.padStart(14)).join("")}`.trimEnd(),
  );
  process.stdout.write(`${machine}, Node ${node}\n\n${lines.join("\n")}\n`);
}
