import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import type { Subject } from "./measure.js";
import type { BenchAccount } from "./scenario.js";

/** Recorded traces, one on a line (`apps/trace-api/fixtures/README.md`). */
interface Recorded {
  trace: Record<string, unknown>;
  spans: (Record<string, unknown> & { parent: number | null })[];
  final: Record<string, unknown>;
}

/** Traces to store, the recorded ones over and over. */
const traceCount = 2_000;
const connections = 8;

/** The kinds of bytes of each table, in all. */
const sizesSql = `
  SELECT c.relname AS table, pg_relation_size(c.oid)::float8 AS rows,
    CASE WHEN c.reltoastrelid = 0 THEN 0 ELSE pg_total_relation_size(c.reltoastrelid) END::float8 AS toast,
    (SELECT json_object_agg(i.indexrelid::regclass, pg_relation_size(i.indexrelid)) FROM pg_index i WHERE i.indrelid = c.oid)::text AS indexes
  FROM pg_class c WHERE c.relname IN ('trace', 'span') ORDER BY 1 DESC`;

interface TableSize {
  table: string;
  rows: number;
  toast: number;
  indexes: string;
}

/** Stores recorded traces over HTTP, as an agent does, and shows what a span and a trace take on disk. */
export async function measureDisk(
  pool: pg.Pool,
  subject: Subject,
  [account]: readonly BenchAccount[],
  folder: string,
): Promise<string> {
  await pool.query("TRUNCATE trace, span");
  const recorded = readdirSync(folder)
    .filter((name) => name.endsWith(".traces.ndjson"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"))
    .map((line): Recorded => JSON.parse(line));
  const before = await walPosition(pool);
  let next = 0;
  const send = createSend(`http://127.0.0.1:${subject.process.port}/api/v1/traces`, account?.key ?? "");
  const store = async () => {
    for (let n = next++; n < traceCount; n = next++) {
      const each = recorded[n % recorded.length];
      if (each) await storeTrace(send, each);
    }
  };
  await Promise.all(Array.from({ length: connections }, store));
  const wal = (await walPosition(pool)) - before;
  await pool.query("VACUUM ANALYZE trace, span");
  const { rows: counts } = await pool.query(
    "SELECT (SELECT count(*) FROM trace)::int AS trace, (SELECT count(*) FROM span)::int AS span",
  );
  const { rows: sizes } = await pool.query<TableSize>(sizesSql);
  const lines = sizes.flatMap((size) => describe(size, counts[0][size.table]));
  const text = recorded.flatMap(({ spans }) => spans).map((span) => JSON.stringify(span).length);
  return [
    `${counts[0].trace} traces, ${counts[0].span} spans of ${Math.round(text.reduce((a, b) => a + b, 0) / text.length)} bytes of JSON on average, through the API; bytes for each:`,
    ...lines,
    line("WAL of all, for a span", wal / counts[0].span),
  ].join("\n");
}

function describe({ table, rows, toast, indexes }: TableSize, count: number): string[] {
  const ofIndexes = Object.entries(JSON.parse(indexes) as Record<string, number>);
  const total = rows + toast + ofIndexes.reduce((sum, [, bytes]) => sum + bytes, 0);
  return [
    line(table, total / count),
    line("  row", rows / count),
    line("  TOAST", toast / count),
    ...ofIndexes.map(([name, bytes]) => line(`  ${name}`, bytes / count)),
  ];
}

function line(name: string, bytes: number): string {
  return name.padEnd(32) + bytes.toFixed(0).padStart(8);
}

async function walPosition(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS position");
  return rows[0].position;
}

type Send = ReturnType<typeof createSend>;

function createSend(origin: string, key: string) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  return async (method: string, path: string, body: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(origin + path, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
}

async function storeTrace(send: Send, { trace, spans, final }: Recorded): Promise<void> {
  const { trace_id: id } = await send("POST", "", trace);
  const refs = spans.map(({ parent, ...span }, n) => ({
    ...span,
    ref: `${n}`,
    ...(parent !== null && { parent_ref: `${parent}` }),
  }));
  if (refs.length > 0) await send("POST", `/${id}/spans/batch`, { spans: refs });
  await send("PATCH", `/${id}`, final);
}
