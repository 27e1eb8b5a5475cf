#!/usr/bin/env node
// `pnpm bench retention`: what removing a week of expired traces takes with weekly partitions, beside deleting row by row.
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPool, createUuidV7, migrate, uuidV7Floor } from "@waymark/database";
import { startEmbeddedPostgres } from "@waymark/local";
import { createPurgeExpired } from "../dist/retention/purge-expired.job.js";

const help = `Removes expired traces of a Pro account by the worker's job: from a week's partition, and one by one.

usage: pnpm bench retention [--traces N] [--spans N]

  --traces  expired traces (1000000, which takes some fifteen minutes and 12 GB of disk)
  --spans   spans of each (10)
`;
const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== "--"),
  options: {
    traces: { type: "string", default: "1000000" },
    spans: { type: "string", default: "10" },
    help: { type: "boolean" },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const traces = Number(values.traces);
const spans = Number(values.spans);
const dayMs = 24 * 3_600_000;
const say = (text) => process.stderr.write(`${text}\n`);
const log = { info() {}, error: (fields, message) => say(`${message}: ${fields.err?.message ?? ""}`) };

/** Traces of one week, evenly, with spans of some 400 bytes of text that compresses badly. */
async function load(pool, accountId, monday) {
  const step = Math.max(1, Math.floor((7 * dayMs) / traces));
  const pieces = 20_000;
  for (let from = 0; from < traces; from += pieces) {
    const ids = Array.from({ length: Math.min(pieces, traces - from) }, (_, n) => {
      const suffix = (from + n).toString(16).padStart(12, "0");
      return `${uuidV7Floor(monday + (from + n) * step).slice(0, -12)}${suffix}`;
    });
    await pool.query(
      `INSERT INTO trace (account_id, id, agent_id, name, status, started_at)
       SELECT $1, id, 'agent', 'answer a ticket', 'success', now() FROM unnest($2::uuid[]) AS id`,
      [accountId, ids],
    );
    await pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output)
       SELECT $1, t.id, gen_random_uuid(), 'call the model', 'ok', now(), now(), to_json(md5(t.id::text || n) || md5(n::text || t.id)),
         to_json(repeat(md5(n::text || t.id), 6) || md5(random()::text))
       FROM unnest($2::uuid[]) AS t (id), generate_series(1, $3) AS n`,
      [accountId, ids, spans],
    );
  }
  await pool.query("VACUUM (ANALYZE) span, trace");
  await pool.query("CHECKPOINT");
}

async function one(pool, sql, params = []) {
  return Object.values((await pool.query(sql, params)).rows[0])[0];
}

const sizeSql = `SELECT sum(pg_total_relation_size(c.oid))::int8 FROM pg_class c
  WHERE c.relname = 'trace' OR (c.relkind = 'r' AND c.relname ~ '^span_')`;

async function purge(pool, now) {
  const before = { size: await one(pool, sizeSql), wal: await one(pool, "SELECT pg_current_wal_insert_lsn()") };
  const spansBefore = Number(await one(pool, "SELECT count(*) FROM span"));
  const start = performance.now();
  const job = createPurgeExpired({ pool, log, now: () => new Date(now), isStopping: () => false });
  let removed = 0;
  do {
    removed = Object.values(await job()).reduce((sum, n) => sum + n, 0);
  } while (removed > 0);
  const seconds = (performance.now() - start) / 1_000;
  const wal = Number(await one(pool, "SELECT pg_current_wal_insert_lsn() - $1::pg_lsn", [before.wal]));
  await pool.query("VACUUM span, trace");
  const left = Number(await one(pool, "SELECT count(*) FROM span"));
  return { seconds, wal, sizes: [before.size, await one(pool, sizeSql)], rows: traces + spansBefore - left };
}

const folder = await mkdtemp(join(tmpdir(), "waymark-retention-"));
const postgres = await startEmbeddedPostgres({ folder: join(folder, "postgres") });
const pool = createPool({
  connectionString: postgres.connectionString,
  maxConnections: 2,
  applicationName: "bench",
  statementTimeoutMs: 0,
});
try {
  await migrate(postgres.connectionString);
  const accountId = createUuidV7()();
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, 'bench@localhost', 'pro')", [accountId]);
  const monday = Date.parse("2026-01-05T00:00:00Z");
  const past = monday + 98 * dayMs;
  const megabytes = (bytes) => `${Math.round(Number(bytes) / 1e6).toLocaleString("en")} MB`.padStart(12);
  const print = (name, { seconds, wal, sizes, rows }) =>
    console.log(
      [
        name.padEnd(22),
        seconds.toFixed(1).padStart(9),
        Math.round(rows / seconds)
          .toLocaleString("en")
          .padStart(12),
        megabytes(wal),
        ...sizes.map(megabytes),
      ].join(""),
    );
  console.log(`${cpus().length} CPUs, ${cpus()[0]?.model}, Node ${process.versions.node}`);
  console.log(`${traces.toLocaleString("en")} traces of ${spans} spans, past their retention\n`);
  console.log("                        seconds      rows/s         WAL      before       after");
  say("loading the default partition ...");
  await load(pool, accountId, monday);
  print("row by row", await purge(pool, past));
  await pool.query("VACUUM (FULL) span_default, trace");
  say("loading a week's partition ...");
  await pool.query("SELECT ensure_span_partition('2026-01-05')");
  await load(pool, accountId, monday);
  print("a week dropped", await purge(pool, past));
} finally {
  await pool.end();
  await postgres.stop();
  await rm(folder, { recursive: true, force: true });
}
