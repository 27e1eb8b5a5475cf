#!/usr/bin/env node
// `pnpm bench analytics`: how fast visits come in, and how fast answers go out, beside baselines of the same run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApiKey } from "@waymark/auth";
import { createPool, createUuidV7, migrate } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import { formatTable } from "@waymark/local/figures";
import { memoryOf } from "@waymark/local/process-usage";
import { readOptions } from "@waymark/local/program-options";
import { measureCollector } from "./measure-collector.mjs";
import { measureStats } from "./measure-stats.mjs";
import { makeFunnel } from "./stats-requests.mjs";

const values = readOptions(
  "pnpm bench analytics",
  "Loads a small and a large site, and measures import, statistics, and the collector beside baselines of the same run.",
  {
    events: {
      takes: "NUMBER",
      default: 10_000_000,
      what: "events of the large site; ten million take some ten minutes and 10 GB of disk",
    },
    seconds: { takes: "NUMBER", default: 10, what: "how long each load on the collector lasts" },
    rounds: { takes: "NUMBER", default: 5, what: "loads of the collector and of each baseline, in turns" },
    folder: {
      takes: "DIR",
      what: "keeps the database there; a later run finds its sites filled, so it imports nothing",
    },
    only: { takes: ["stats", "collector"], what: "one part; the collector imports nothing" },
  },
);

const root = fileURLToPath(new URL("../../../", import.meta.url));
const smallEvents = 10_000;
const largeEvents = values.events;
const say = (text) => process.stderr.write(`${text}\n`);

/** The three sites, made where the folder has none, and keys that are new in each run. */
async function openSites(pool) {
  const uuid = createUuidV7();
  const accountId = await pool
    .query("SELECT id FROM account WHERE email = 'bench@localhost'")
    .then(({ rows }) => rows[0]?.id ?? uuid());
  await pool.query(
    "INSERT INTO account (id, email, plan) VALUES ($1, 'bench@localhost', 'pro') ON CONFLICT DO NOTHING",
    [accountId],
  );
  const sites = {};
  for (const name of ["small", "large", "live"]) {
    const domain = `${name}.example`;
    const { rows } = await pool.query("SELECT id FROM site WHERE domain = $1", [domain]);
    const id = rows[0]?.id ?? uuid();
    await pool.query(
      "INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, $3) ON CONFLICT (id) DO NOTHING",
      [id, accountId, domain],
    );
    sites[name] = { id, domain, funnelId: await makeFunnel(pool, id) };
  }
  // Each key has its own 60 requests a minute.
  const keys = Array.from({ length: 200 }, () => createApiKey("analytics"));
  for (const { hash, hint } of keys) {
    await pool.query(
      "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, 'analytics', 'b', $3, $4)",
      [uuid(), accountId, hash, hint],
    );
  }
  return { ...sites, keys: keys.map(({ key }) => key) };
}

async function countEvents(pool, { id }) {
  const { rows } = await pool.query(
    "SELECT coalesce(sum(pageviews + events), 0)::int AS n FROM daily_stat WHERE site_id = $1 AND dimension = 'total'",
    [id],
  );
  return rows[0].n;
}

/** @returns the measurement of the large site's import; undefined where both sites are filled */
async function fillSites(databaseUrl, pool, { small, large }) {
  if ((await countEvents(pool, large)) > 0) return undefined;
  say(`importing ${smallEvents} events ...`);
  await measureImport(databaseUrl, small, smallEvents);
  say(`importing ${largeEvents} events ...`);
  const progress = setInterval(async () => say(`  ${await countEvents(pool, large)}`), 30_000);
  try {
    return await measureImport(databaseUrl, large, largeEvents);
  } finally {
    clearInterval(progress);
    await pool.query("VACUUM (ANALYZE)");
  }
}

/** Imports a file of made-up visits by the command line, as a user would, and watches its memory. */
async function measureImport(databaseUrl, site, events) {
  const file = join(await mkdtemp(join(tmpdir(), "waymark-visits-")), "visits.ndjson");
  try {
    await writeVisits(file, site, events);
    return await measureFile(databaseUrl, site, events, file);
  } finally {
    await rm(dirname(file), { recursive: true, force: true });
  }
}

async function writeVisits(file, site, events) {
  const generator = fileURLToPath(new URL("visits.mjs", import.meta.url));
  const output = await open(file, "w");
  const visits = spawn(process.execPath, [generator, events, Date.now(), site.domain], {
    stdio: ["ignore", output.fd, "inherit"],
  });
  const [code] = await once(visits, "close");
  await output.close();
  if (code !== 0) throw new Error(`The visits ended with ${code}`);
}

async function measureFile(databaseUrl, site, events, file) {
  const before = process.hrtime.bigint();
  const cli = spawn(
    process.execPath,
    [join(root, "packages/cli/bin/waymark.mjs"), "import", "--site", site.id, "--file", file, "--json"],
    { env: { ...process.env, DATABASE_URL: databaseUrl }, stdio: ["ignore", "pipe", "inherit"] },
  );
  let output = "";
  cli.stdout.on("data", (chunk) => (output += chunk));
  let peakBytes = 0;
  const watch = setInterval(() => (peakBytes = Math.max(peakBytes, memoryOf(cli.pid).highest)), 200);
  const [code] = await once(cli, "close");
  clearInterval(watch);
  const seconds = Number(process.hrtime.bigint() - before) / 1e9;
  const { imported } = code === 0 ? JSON.parse(output) : {};
  if (imported !== events) throw new Error(`The import ended with ${code}: ${output}`);
  return { events, seconds, eventsPerSecond: events / seconds, peakMb: peakBytes / 1e6 };
}

const folder = values.folder ?? (await mkdtemp(join(tmpdir(), "waymark-bench-")));
const postgres = await startEmbeddedPostgres({ folder: values.folder ?? join(folder, "postgres") });
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
  const sites = await openSites(pool);
  const imports = values.only === "collector" ? undefined : await fillSites(databaseUrl, pool, sites);
  const shared = { root, databaseUrl, pool, say };
  const stats = values.only === "collector" ? undefined : await measureStats({ ...shared, sites });
  const collector =
    values.only === "stats"
      ? undefined
      : await measureCollector({
          ...shared,
          site: sites.live,
          seconds: values.seconds,
          rounds: values.rounds,
        });
  print({
    machine: `${cpus().length} CPUs, ${cpus()[0]?.model}`,
    node: process.version,
    events: await countEvents(pool, sites.large),
    imports,
    stats,
    collector,
  });
} finally {
  await pool?.end();
  if (!postgres.adopted) await postgres.stop();
  if (!values.folder) await rm(folder, { recursive: true, force: true });
}

function print({ machine, node, events, imports, stats, collector }) {
  const n = (value, digits = 0) =>
    value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits });
  const ms = (value) => (value === null ? "" : `${n(value, value < 100 ? 1 : 0)} ms`);
  const parts = [`${machine}, Node ${node}\n`];
  if (imports) {
    const speed = `${n(imports.eventsPerSecond)} events/s, peak ${n(imports.peakMb)} MB`;
    parts.push(`import of ${n(imports.events)} events: ${speed}\n`);
  }
  if (stats) {
    const titles = [`30 days, ${n(events)} events`, "p50", "p99", "budget p50", `p50 of ${n(smallEvents)}`];
    const rows = stats.rows.map(({ what, ...times }) => {
      return [what, ...[times.p50Ms, times.p99Ms, times.budgetMs, times.smallP50Ms].map(ms)];
    });
    parts.push(formatTable([titles, ...rows]));
  }
  if (collector) {
    const spread = ({ low, median, high }, digits) => `${n(median, digits)} (${n(low, digits)}-${n(high, digits)})`;
    const titles = ["", "requests/s", "Node, µs each", "p50", "p99", "errors", "collector / this"];
    const rows = collector.rows.map(({ what, perSecond, nodeMicros, p50Ms, p99Ms, errors, collectorTo }) => {
      return [what, spread(perSecond), spread(nodeMicros), ms(p50Ms), ms(p99Ms), n(errors), spread(collectorTo, 2)];
    });
    const { rounds, seconds, answered, recorded } = collector;
    parts.push(
      `collector, 64 connections, ${rounds} rounds of ${seconds} s; median (quartiles)\n${formatTable([titles, ...rows])}`,
      `202s answered: ${n(answered)}, events in the database: ${n(recorded)}\n`,
    );
  }
  process.stdout.write(parts.join("\n"));
}
