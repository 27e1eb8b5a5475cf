import { readdirSync, readFileSync } from "node:fs";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { percentile } from "@waymark/local/figures";
import { storeBlocks } from "@waymark/traces";
import pg from "pg";
import type { Stage, Subject } from "./measure.js";
import type { BenchAccount } from "./scenario.js";

/** The demo's recorded runs (packages/local/assets/demo/README.md). */
const recordings = new URL("../../../../../packages/local/assets/demo/", import.meta.url);
const [samples, pairs, batchSpans] = [20, 60, 1_000];
/** Traces that a person looks at. */
const wanted = 10;

const makeRecordedSql = `
  CREATE TEMP TABLE recorded AS
  SELECT run, row_number() OVER (PARTITION BY run) AS n, span->>'name' AS name, span->>'status' AS status,
    span->'input' AS input, span->'output' AS output, span->>'error' AS error
  FROM json_array_elements($1::json) WITH ORDINALITY AS r (recording, run), json_array_elements(recording->'spans') AS span`;

/** Of the 20 days before yesterday, by even steps. The last 12 digits are the number. */
const idSql =
  "overlay(uuid_floor(current_date - interval '21 days' + n * (interval '20 days' / $2::int))::text placing lpad(to_hex(n), 12, '0') from 25)::uuid";
const insertTracesSql = `
  INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, written_at)
  SELECT $1, ${idSql}, 'agent', 'run ' || n, 'success', at, at + interval '9 s', at
  FROM generate_series(1, $2) n, LATERAL (SELECT current_date - interval '21 days' + n * (interval '20 days' / $2) AS at) t`;
/** The spans of a recording for each trace, and one with an id of its own and, in a thousandth of the traces, a word. */
const insertSpansSql = `
  INSERT INTO span (account_id, trace_id, id, name, status, started_at, input, output, error)
  SELECT $1, trace_id, overlay(trace_id::text placing lpad(to_hex(s.n), 4, '0') from 15)::uuid, s.name, s.status, now(), s.input, s.output, s.error
  FROM (SELECT n, ${idSql} AS trace_id FROM generate_series(1, $2) n) t CROSS JOIN LATERAL (
    SELECT n, name, status, input, output, error FROM recorded WHERE run = 1 + t.n % $3
    UNION ALL SELECT 4095, 'look up', 'ok', to_json('order ' || md5(t.n::text) || CASE WHEN t.n % 1000 = 7 THEN ' quokka' ELSE '' END), NULL, NULL
  ) s`;

const sizesSql = `
  SELECT (SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('span'))::float8 + pg_total_relation_size('trace') AS stored,
    (SELECT sum(octet_length(contents)) FROM trace_block)::float8 AS filters, pg_total_relation_size('trace_block')::float8 AS blocks`;

const insertBatchSql = `
  INSERT INTO span (account_id, trace_id, id, name, status, started_at, input)
  SELECT $1, $2, gen_random_uuid(), 'a step', 'ok', now(), input FROM (SELECT input FROM recorded CROSS JOIN generate_series(1, 10) LIMIT ${batchSpans}) r`;

/** Fills an account with recorded runs, stores its blocks as the worker does, and searches by the service. */
export async function search(
  { pool, accounts: [other] }: Stage,
  { process: service }: Subject,
  databaseUrl: string,
  traces: number,
): Promise<string> {
  if (!other) throw new Error("There are no accounts");
  const { id } = await createAccount(createPrisma(pool), { email: "search@example.com", plan: "pro" });
  const { key } = await issueKey(pool, { accountId: id, service: "trace", name: "search" });
  const account = { id, key };
  const lines = await fill(databaseUrl, { id, traces, other });
  const storedAt = performance.now();
  while ((await storeBlocks(pool, account.id, () => false)) > 0);
  lines.push(
    `storing blocks with filters: ${Math.round(((performance.now() - storedAt) * 1_000) / traces)} µs a trace`,
  );
  await pool.query("VACUUM ANALYZE");
  const { rows } = await pool.query<{ stored: number; filters: number; blocks: number }>(sizesSql);
  const { stored = 1, filters = 0, blocks = 0 } = rows[0] ?? {};
  lines.push(
    `disk: ${percent(blocks / stored)} for blocks, ${percent(filters / stored)} their filters, of ${Math.round(stored / traces)} bytes a trace`,
  );
  const md5 = await pool.query<{ id: string }>("SELECT md5(n::text) AS id FROM generate_series(1, $1) n", [traces]);
  const idAt = (n: number) => md5.rows[Math.floor((n * traces) / samples)]?.id ?? "";
  const queries: [string, (n: number) => string][] = [
    ["an id of one trace", idAt],
    ["a part of one, in capitals", (n) => idAt(n).slice(5, 25).toUpperCase()],
    ["a word of no trace", (n) => `unheardof${n}`],
    ["a word of one in 1,000", () => "quokka"],
    ["a word of most traces", () => "the"],
  ];
  for (const [what, q] of queries) lines.push(await measure(service.port, account, what, q));
  return lines.join("\n");
}

interface Filling {
  id: string;
  traces: number;
  other: BenchAccount;
}

async function fill(databaseUrl: string, { id, traces, other }: Filling): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const files = readdirSync(recordings).filter((name) => name.endsWith(".traces.ndjson"));
  const runs = files.flatMap((name) => readFileSync(new URL(name, recordings), "utf8").trim().split("\n"));
  await client.query(makeRecordedSql, [`[${runs.join(",")}]`]);
  const cost = await measureNotes(client, other);
  // Traces of the past would all be noted as changed.
  await client.query("SET session_replication_role = replica");
  await client.query(
    "SELECT ensure_span_partition((now() - week * interval '1 week')::date) FROM generate_series(0, 4) AS week",
  );
  await client.query(insertTracesSql, [id, traces]);
  await client.query(insertSpansSql, [id, traces, runs.length]);
  await client.end();
  return [`${traces} traces of ${runs.length} recorded runs`, cost];
}

/** Times batches with and without the trigger that notes late spans, in turns. */
async function measureNotes(client: pg.Client, account: BenchAccount): Promise<string> {
  const times: Record<"DISABLE" | "ENABLE", number[]> = { DISABLE: [], ENABLE: [] };
  for (let n = 0; n < pairs; n++) {
    for (const way of n % 2 === 0 ? (["DISABLE", "ENABLE"] as const) : (["ENABLE", "DISABLE"] as const)) {
      await client.query(`ALTER TABLE span ${way} TRIGGER span_change_noted`);
      const start = performance.now();
      await client.query(insertBatchSql, [account.id, account.traces[0]]);
      times[way].push(performance.now() - start);
    }
  }
  // Other work on the machine lengthens times.
  const [without, withIt] = [times.DISABLE, times.ENABLE].map((each) => (1_000 * percentile(each, 0.25)) / batchSpans);
  return `a span of a batch in Postgres: ${without?.toFixed(2)} µs, ${withIt?.toFixed(2)} with the comparison of its time`;
}

async function measure(
  port: number,
  { key }: { key: string },
  what: string,
  q: (n: number) => string,
): Promise<string> {
  const [first, whole]: [number[], number[]] = [[], []];
  let [found, pages] = [0, 0];
  for (let n = 0; n < samples; n++) {
    const start = performance.now();
    for (let [cursor, own] = ["", 0]; ; ) {
      const query = new URLSearchParams({ q: q(n), ...(cursor && { cursor }) });
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/traces?${query}`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      const page = (await answer.json()) as { traces: unknown[]; next_cursor: string | null };
      if (cursor === "") first.push(performance.now() - start);
      own += page.traces.length;
      pages++;
      cursor = page.next_cursor ?? "";
      if (cursor !== "" && own < wanted) continue;
      found += own;
      break;
    }
    whole.push(performance.now() - start);
  }
  const ms = (times: readonly number[]) => `${Math.round(percentile(times, 0.5))} ms`;
  return `${what}: first page ${ms(first)}, to the end or ${wanted} traces ${ms(whole)} (p95 ${Math.round(percentile(whole, 0.95))}); ${found / samples} traces in ${pages / samples} pages`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(2)} %`;
}
