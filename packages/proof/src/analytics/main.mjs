// `pnpm bench analytics`: how fast visits come in, and how fast answers go out, beside baselines of the same run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAccount, createSite, listSites } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { formatTable } from "@waymark/local/figures";
import { memoryOf } from "@waymark/local/process-usage";
import { readOptions } from "@waymark/local/program-options";
import { openStage } from "../../dist/system/stage.js";
import { makeStatisticsKeys } from "../../dist/system/tenant.js";
import { undoing } from "../../dist/system/undo.js";
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

const smallEvents = 10_000;
const largeEvents = values.events;
const say = (text) => process.stderr.write(`${text}\n`);

/** The three sites, made where the folder has none, and keys that are new in each run. */
async function openSites(pool) {
  const prisma = createPrisma(pool);
  const email = "bench@localhost.example";
  const known = await prisma.account.findUnique({ where: { email } });
  const { id: accountId } = known ?? (await createAccount(prisma, { email, plan: "pro" }));
  const there = await listSites(pool, accountId);
  const sites = {};
  for (const name of ["small", "large", "live"]) {
    const domain = `${name}.example`;
    const { id } =
      there.find((site) => site.domain === domain) ?? (await createSite(pool, { accountId, domain, name })).site;
    sites[name] = { id, domain, funnelId: await makeFunnel(pool, id) };
  }
  return { ...sites, keys: await makeStatisticsKeys(pool, accountId, 200) };
}

async function countEvents(pool, { id }) {
  const { rows } = await pool.query(
    "SELECT coalesce(sum(pageviews + events), 0)::int AS n FROM daily_stat WHERE site_id = $1 AND dimension = 'total'",
    [id],
  );
  return rows[0].n;
}

/** @returns the measurement of the large site's import; undefined where both sites are filled */
async function fillSites(stage, { small, large }) {
  const { pool } = stage;
  if ((await countEvents(pool, large)) > 0) return undefined;
  say(`importing ${smallEvents} events ...`);
  await measureImport(stage, small, smallEvents);
  say(`importing ${largeEvents} events ...`);
  const progress = setInterval(async () => say(`  ${await countEvents(pool, large)}`), 30_000);
  try {
    return await measureImport(stage, large, largeEvents);
  } finally {
    clearInterval(progress);
    await pool.query("VACUUM (ANALYZE)");
  }
}

/** Imports a file of made-up visits by the command line, as a user would, and watches its memory. */
async function measureImport({ folder, connectionString }, site, events) {
  const file = join(folder, "visits.ndjson");
  await writeVisits(file, site, events);
  const before = process.hrtime.bigint();
  const program = fileURLToPath(new URL("../../../cli/bin/waymark.mjs", import.meta.url));
  const cli = spawn(process.execPath, [program, "import", "--site", site.id, "--file", file, "--json"], {
    env: { DATABASE_URL: connectionString },
    stdio: ["ignore", "pipe", "inherit"],
  });
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

await undoing(async (undo) => {
  const { only, seconds, rounds } = values;
  const stage = await openStage(undo, values.folder);
  const sites = await openSites(stage.pool);
  const imports = only === "collector" ? undefined : await fillSites(stage, sites);
  print({
    imports,
    stats: only === "collector" ? undefined : await measureStats(stage, { sites, say }),
    collector: only === "stats" ? undefined : await measureCollector(stage, { site: sites.live, seconds, rounds, say }),
    events: await countEvents(stage.pool, sites.large),
  });
});

function print({ events, imports, stats, collector }) {
  const n = (value, digits = 0) =>
    value.toLocaleString("en-US", { maximumFractionDigits: digits, minimumFractionDigits: digits });
  const ms = (value) => (value === null ? "" : `${n(value, value < 100 ? 1 : 0)} ms`);
  const parts = [`${cpus().length} CPUs, ${cpus()[0]?.model}, Node ${process.version}\n`];
  if (imports) {
    const speed = `${n(imports.eventsPerSecond)} events/s, peak ${n(imports.peakMb)} MB`;
    parts.push(`import of ${n(imports.events)} events: ${speed}\n`);
  }
  if (stats) {
    const titles = [`30 days, ${n(events)} events`, "p50", "p99", "budget p50", `p50 of ${n(smallEvents)}`];
    const rows = stats.map(({ what, ...times }) => {
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
