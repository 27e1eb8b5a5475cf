import { join } from "node:path";
import type { AppProcess } from "@waymark/local";
import type pg from "pg";
import { formatTable } from "../load/figures.js";
import { startService } from "../system/start-service.js";
import { createTraces, endTraces, sendEvents, sendOtlp, sendSpans } from "./send.js";
import { hasVisitorDays, measureTables, readVersion, readWal, type TableSize } from "./table-sizes.query.js";

interface DiskOptions {
  folder: string;
  /** Of an empty database. */
  databaseUrl: string;
  /** The folder of the built clone. */
  build: string;
  traces: number;
  events: number;
}

/** Bytes of a thing stored. */
interface DiskBytes {
  readonly stored: number;
  /** On a file system that compresses. */
  readonly compressed?: number;
}

/** A part of the load with the rows that it stored. */
interface Part {
  readonly name: string;
  readonly tables: readonly TableSize[];
  /** Bytes on disk for each thing stored, with its part of all tables. */
  readonly disk: Readonly<Record<string, DiskBytes>>;
  /** Bytes of WAL for each request or row, by what was stored. */
  readonly wal: Readonly<Record<string, number>>;
}

interface DiskReport {
  readonly postgres: string;
  readonly parts: readonly Part[];
}

const domain = "disk.example.com";

/** Stores all parts of the load one after the other; each begins with empty tables. */
export async function measureDisk(options: DiskOptions): Promise<DiskReport> {
  const { databaseUrl, build } = options;
  const fromBuild = (file: string) => import(join(build, "packages", file));
  const { prepareDatabase }: typeof import("@waymark/cli") = await fromBuild("cli/dist/index.js");
  const accounts: typeof import("@waymark/accounts") = await fromBuild("accounts/dist/index.js");
  const { createPool }: typeof import("@waymark/database") = await fromBuild("database/dist/index.js");
  const { createPrisma }: typeof import("@waymark/database/prisma") = await fromBuild("database/dist/prisma.js");
  await prepareDatabase(databaseUrl, undefined);
  const pool = createPool({
    connectionString: databaseUrl,
    maxConnections: 2,
    applicationName: "disk",
    statementTimeoutMs: 0,
  });
  const apps: AppProcess[] = [];
  const start = async (name: "trace-api" | "collector") => {
    const { port, process } = await startService(name, { ...options, env: { COUNTRY_HEADER: "CF-IPCountry" } });
    apps.push(process);
    return `http://127.0.0.1:${port}`;
  };
  try {
    const { id: accountId } = await accounts.createAccount(createPrisma(pool), { email: `a@${domain}`, plan: "pro" });
    const { key } = await accounts.issueKey(pool, { accountId, service: "trace", name: "disk" });
    await accounts.createSite(pool, { accountId, domain, name: "disk" });
    const traceApi = await start("trace-api");
    return {
      postgres: await readVersion(pool),
      parts: [
        await storeRuns(pool, { url: traceApi, key }, options.traces),
        await storeOtlp(pool, { url: traceApi, key }, options.traces),
        await storeEvents(pool, await start("collector"), options.events),
      ],
    };
  } finally {
    await Promise.all(apps.map((app) => app.stop()));
    await pool.end();
  }
}

type Target = Parameters<typeof createTraces>[0];

/** Runs of agents as they report them: each trace begins before the first ends. */
async function storeRuns(pool: pg.Pool, target: Target, count: number): Promise<Part> {
  const wal = createWalMeter(pool);
  const runs = await createTraces(target, count);
  const traces = await wal.since(runs.length);
  const spans = await wal.since(await sendSpans(target, runs));
  await endTraces(target, runs);
  const end = await wal.since(runs.length);
  const tables = await measureTables(pool, ["trace", "span"]);
  return {
    name: "runs of agents",
    tables,
    wal: { "a trace": traces, "a span": spans, "an end": end },
    disk: { "a span with its part of the trace": bytesEach(tables, rowsOf(tables, "span")) },
  };
}

async function storeOtlp(pool: pg.Pool, target: Target, count: number): Promise<Part> {
  await pool.query("TRUNCATE trace, span");
  const wal = createWalMeter(pool);
  await sendOtlp(target, count);
  const allWal = await wal.since(1);
  const tables = await measureTables(pool, ["trace", "span", "trace_context", "model_call"]);
  const spans = rowsOf(tables, "span");
  return {
    name: "OpenTelemetry",
    tables,
    wal: { "a span with its part of the rest": Math.round(allWal / spans) },
    disk: { "a span with its part of the rest": bytesEach(tables, spans) },
  };
}

async function storeEvents(pool: pg.Pool, url: string, count: number): Promise<Part> {
  const wal = createWalMeter(pool);
  await sendEvents({ url, domain }, count);
  const each = await wal.since(count);
  const tables = await measureTables(pool, ["event", "visit", "daily_visitor", "daily_stat"]);
  const lasting = (await hasVisitorDays(pool)) ? tables.filter(({ table }) => table !== "daily_visitor") : tables;
  return {
    name: "page views",
    tables,
    wal: { "an event with its visit and figures": each },
    disk: {
      "an event with its part of the rest": bytesEach(tables, count),
      "the same after four days": bytesEach(lasting, count),
    },
  };
}

function rowsOf(tables: readonly TableSize[], name: string): number {
  return tables.find(({ table }) => table === name)?.rows ?? 1;
}

function bytesEach(tables: readonly TableSize[], count: number): DiskBytes {
  const sum = (bytesOf: (table: TableSize) => number) =>
    Math.round(tables.reduce((bytes, table) => bytes + bytesOf(table) * table.rows, 0) / count);
  const stored = sum(({ total }) => total);
  const isCompressed = tables.every(({ compressed }) => compressed !== undefined);
  return { stored, ...(isCompressed && { compressed: sum(({ compressed = 0 }) => compressed) }) };
}

function createWalMeter(pool: pg.Pool) {
  let before: Promise<number> = readWal(pool);
  return {
    /** Bytes since the call before, divided by a count. */
    async since(count: number): Promise<number> {
      const [from, to] = [await before, await readWal(pool)];
      before = Promise.resolve(to);
      return Math.round((to - from) / count);
    },
  };
}

/** The figures as a text, bytes for each row. */
export function formatReport({ postgres, parts }: DiskReport): string {
  return [`Postgres ${postgres}; bytes for each row`, ...parts.map(formatPart)].join("\n\n");
}

function formatPart({ name, tables, wal, disk }: Part): string {
  const rows = tables.flatMap(({ table, rows, heap, toast, indexes, total, wal }) => [
    [table, String(rows), String(heap), String(toast), String(total - heap - toast), String(total), String(wal)],
    ...Object.entries(indexes)
      .filter(() => Object.keys(indexes).length > 1)
      .map(([index, bytes]) => [`  ${index}`, "", "", "", String(bytes), "", ""]),
  ]);
  const table = formatTable([[name, "rows", "row", "TOAST", "indexes", "total", "WAL alone"], ...rows]);
  const lines = [
    ...Object.entries(disk).map(([what, { stored, compressed }]) => {
      const bytes = `Disk of ${what}: ${stored}`;
      return compressed === undefined ? bytes : `${bytes}, ${compressed} compressed by btrfs`;
    }),
    ...Object.entries(wal).map(([what, bytes]) => `WAL of ${what}: ${bytes}`),
  ];
  return `${table}${lines.join("\n")}`;
}
