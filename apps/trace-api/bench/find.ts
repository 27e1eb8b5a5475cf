import { cpus } from "node:os";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { utcMonth } from "@waymark/plan";
import {
  deleteTraceStatement,
  getUsageStatement,
  listAgentsStatement,
  listTracesStatement,
  newestCursor,
  storeBlocks,
  type TracesToFind,
} from "@waymark/traces";
import type pg from "pg";
import { cpuMicrosOfTree } from "./cpu.js";
import type { Subject } from "./measure.js";

/** Traces of the searched account, spread evenly over these days up to now, in the order of their starts. */
const traceCount = 1_000_000;
const days = 90;
/** Traces of ten other accounts over the same days. */
const otherCount = 100_000;
/** How long the bench repeats one search. */
const secondsPerCase = 3;
const mostRequests = 300;
const warmUps = 5;

const day = 86_400_000;

/**
 * Loads traces: 20 agents, one of 1 in 10,000 and one of 1 in 20,000; 5 % errors, 1 in 20,000 timeouts, 1 in 100,000 running; names of 40 characters,
 * 1 in 10 with a refund, 1 in 1,000 with an escalation and 1 in 20,000 with a lawyer; durations from 1 to 101 s,
 * 1 in 20,000 an hour.
 */
const loadSql = `
  INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, metadata, written_at)
  SELECT ($1::uuid[])[n % cardinality($1::uuid[]) + 1],
    (lpad(to_hex((extract(epoch FROM started_at) * 1000)::bigint), 12, '0') || '7' || left(md5(n::text), 3) || '8' || right(md5(n::text), 15))::uuid,
    CASE WHEN n % 10000 = 77 THEN 'rare-agent' WHEN n % 20000 = 78 THEN 'rarer-agent' ELSE 'agent-' || n % 20 END,
    'Answer Ticket ' || n || CASE WHEN n % 10 = 3 THEN ': Refund of an order' WHEN n % 1000 = 7 THEN ': Escalated to a human'
      WHEN n % 20000 = 9 THEN ': Lawyer of a customer' ELSE ': where is my parcel?' END,
    CASE WHEN n % 20 = 0 THEN 'error' WHEN n % 20000 = 1 THEN 'timeout' WHEN n % 100000 = 7 THEN 'running' ELSE 'success' END,
    started_at, started_at + CASE WHEN n % 20000 = 11 THEN interval '1 hour' ELSE (1000 + n * 7919 % 100003) * interval '1 ms' END,
    '{"model":"gpt-4o","session":"5f0c7f6e","tags":["support","billing"],"temperature":0.2}', started_at
  FROM (SELECT n, now() - ($2::bigint - n) * ($3::int * interval '1 day' / $2::bigint) AS started_at FROM generate_series(1, $2::bigint) n) t`;

/** Fills agents and the other tables, since empty tables have other plans. */
const loadRestSql = `
  INSERT INTO agent (account_id, id) SELECT DISTINCT account_id, agent_id FROM trace;
  INSERT INTO agent (account_id, id) SELECT gen_random_uuid(), 'agent ' || n FROM generate_series(1, 20000) n;
  INSERT INTO trace_usage (account_id, month, traces) SELECT gen_random_uuid(), '2000-01-01', n FROM generate_series(1, 5000) n;
  INSERT INTO span (account_id, trace_id, id, name, status, started_at)
    SELECT account_id, id, gen_random_uuid(), 'a step', 'ok', started_at FROM trace WHERE name LIKE '%: Refund%';
  INSERT INTO alert (account_id, id, trace_id, status, sent_at)
    SELECT account_id, gen_random_uuid(), id, 'error', now() FROM trace WHERE status = 'error'`;

interface Case {
  name: string;
  /** Path and query, anew for each request. */
  ask(request: number): string | Promise<string>;
}

interface Answered {
  name: string;
  status: number;
  /** Entries of the last answer's list, and whether it goes on. */
  entries: string;
  requests: number;
  p50Ms: number;
  p99Ms: number;
}

/** Fills the database, runs all searches over HTTP, one request at a time, and explains each statement. */
export async function find(
  pool: pg.Pool,
  subject: Subject,
  { databaseUrl, postmasterPid }: { databaseUrl: string; postmasterPid: number },
): Promise<string> {
  const { accountId, key } = await load(pool);
  const get = createGet(`http://127.0.0.1:${subject.process.port}`, key);
  const lines = [
    `One account with ${traceCount.toLocaleString("en")} traces over ${days} days beside others with ${otherCount.toLocaleString("en")}; pages of 50; one request at a time.`,
    `${new Date().toISOString()}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}.`,
    `${await sizes(pool)}`,
    "",
    row("", "status", "entries", "requests", "p50 ms", "p99 ms", "pg CPU ms"),
  ];
  for (const line of lines) process.stdout.write(`${line}\n`);
  for (const each of casesOf(get)) {
    const before = cpuMicrosOfTree(postmasterPid);
    const { name, status, entries, requests, p50Ms, p99Ms } = await measureCase(each, get);
    const cpuMs = (cpuMicrosOfTree(postmasterPid) - before) / 1000 / (requests + warmUps);
    const times = [p50Ms, p99Ms, cpuMs].map((ms) => ms.toFixed(1));
    lines.push(row(name, String(status), entries, String(requests), ...times));
    process.stdout.write(`${lines.at(-1)}\n`);
  }
  const plans = await explainAll(databaseUrl, accountId);
  process.stdout.write(plans);
  return `${lines.join("\n")}\n${plans}`;
}

async function load(pool: pg.Pool) {
  const prisma = createPrisma(pool);
  const { id: accountId } = await createAccount(prisma, { email: "finder@example.com", plan: "pro" });
  const { key } = await issueKey(pool, { accountId, service: "trace", name: "bench" });
  const others: string[] = [];
  for (let n = 0; n < 10; n++)
    others.push((await createAccount(prisma, { email: `other-${n}@example.com`, plan: "pro" })).id);
  await pool.query(loadSql, [others, otherCount, days]);
  await pool.query(loadSql, [[accountId], traceCount, days]);
  await pool.query(loadRestSql);
  await storeBlocks(pool, accountId, () => false);
  await pool.query("VACUUM ANALYZE");
  await pool.query("CHECKPOINT");
  return { accountId, key };
}

async function sizes(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query(
    `SELECT pg_size_pretty(pg_relation_size('trace')) AS heap, pg_size_pretty(pg_relation_size('trace_listing_idx')) AS index,
       current_setting('shared_buffers') AS memory, current_setting('server_version') AS version`,
  );
  const { heap, index, memory, version } = rows[0];
  return `Postgres ${version}, shared_buffers ${memory}; trace ${heap}, trace_listing_idx ${index}.`;
}

type Get = ReturnType<typeof createGet>;

export function createGet(origin: string, key: string) {
  const headers = { Authorization: `Bearer ${key}` };
  return async (path: string) => {
    const startedAt = performance.now();
    const answer = await fetch(`${origin}/api/v1${path}`, { headers });
    const body = (await answer.json()) as Record<string, unknown>;
    return { ms: performance.now() - startedAt, status: answer.status, body };
  };
}

function casesOf(get: Get): Case[] {
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const traces = (name: string, query: string): Case => ({ name, ask: () => `/traces?${query}` });
  return [
    traces("newest first", ""),
    {
      name: "the page after one somewhere in the list",
      ask: async () => {
        const page = await get(`/traces?to=${ago(Math.random() * (days - 1) * day)}`);
        return `/traces?cursor=${page.body["next_cursor"]}`;
      },
    },
    { name: "agent, 1 in 20", ask: (n) => `/traces?agent_id=agent-${n % 20}` },
    traces("agent, 1 in 10,000", "agent_id=rare-agent"),
    traces("agent, 1 in 20,000", "agent_id=rarer-agent"),
    traces("status error, 1 in 20", "status=error"),
    traces("status timeout, 1 in 20,000", "status=timeout"),
    traces("status running, 1 in 100,000", "status=running"),
    traces("status running or timeout, 1 in 17,000", "status=running,timeout"),
    traces("agent and status, 1 in 20", "agent_id=agent-0&status=error"),
    traces("name, 1 in 10", "name=refund"),
    traces("name, 1 in 1,000", "name=escalated"),
    traces("name, 1 in 20,000", "name=lawyer"),
    traces("name, one ticket", "name=ticket%20654321:"),
    traces("name, absent", "name=no%20such%20name"),
    traces("name of two letters, absent", "name=zz"),
    traces("name beyond ASCII, absent", "name=%C3%BCber"),
    traces(
      "name, one ticket, within an hour of its start",
      `name=ticket&from=${ago(30 * day + 3_600_000)}&to=${ago(30 * day)}`,
    ),
    traces("from and to, a day", `from=${ago(31 * day)}&to=${ago(30 * day)}`),
    traces("duration from 100 s, 1 in 50", "min_duration_ms=99000"),
    traces("duration from 200 s, 1 in 20,000", "min_duration_ms=200000"),
    traces("cost, absent", "min_cost=1"),
    traces("score, absent", "score=quality"),
    { name: "agents, 7 days (78,000 traces)", ask: () => `/agents?from=${ago(7 * day)}` },
    { name: "agents, 20 days (222,000 traces)", ask: () => `/agents?from=${ago(20 * day)}` },
    { name: "agents, 30 days (333,000 traces, refused)", ask: () => "/agents" },
    { name: "usage", ask: () => "/usage" },
  ];
}

export async function measureCase({ name, ask }: Case, get: Get): Promise<Answered> {
  for (let n = 0; n < warmUps; n++) await get(await ask(n));
  const durations: number[] = [];
  let last: Awaited<ReturnType<Get>> | undefined;
  const until = performance.now() + secondsPerCase * 1000;
  for (let n = 0; n < mostRequests && performance.now() < until; n++) {
    const path = await ask(n);
    last = await get(path);
    durations.push(last.ms);
  }
  const sorted = Float64Array.from(durations).sort();
  const percentile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const list = last?.body["traces"] ?? last?.body["agents"];
  const entries = Array.isArray(list) ? `${list.length}${last?.body["next_cursor"] ? "+" : ""}` : "";
  const requests = durations.length;
  return { name, status: last?.status ?? 0, entries, requests, p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

/** The plans of the service: generic, so the same for all values. */
async function explainAll(databaseUrl: string, accountId: string): Promise<string> {
  const pool = createPool({
    connectionString: databaseUrl,
    maxConnections: 1,
    applicationName: "bench",
    statementTimeoutMs: 0,
    plansOnce: true,
  });
  const now = Date.now();
  const list = (query: Partial<TracesToFind>) =>
    listTracesStatement({ accountId, after: newestCursor, limit: 50, ...query });
  const range = { from: new Date(now - 7 * day).toISOString(), to: new Date(now).toISOString() };
  const { rows } = await pool.query("SELECT id FROM trace WHERE account_id = $1 ORDER BY id DESC LIMIT 1", [accountId]);
  const statements = {
    "newest first": list({}),
    "status error, 1 in 20": list({ statuses: ["error"] }),
    "status running, 1 in 100,000": listTracesStatement(
      { accountId, after: newestCursor, limit: 50, statuses: ["running"] },
      { isFromRunning: true },
    ),
    "name, 1 in 1,000": list({ name: "escalated" }),
    "name, absent, for 500 ms": list({ name: "no such name" }),
    "agents, 7 days": listAgentsStatement({ accountId, ...range, after: "", limit: 50 }),
    usage: getUsageStatement(accountId, utcMonth(new Date(now)).firstDay),
    "delete one": deleteTraceStatement(accountId, rows[0].id),
  };
  let text = "";
  for (const [name, { text: sql, values }] of Object.entries(statements)) {
    await pool.query("BEGIN");
    const plan = await pool.query<{ "QUERY PLAN": string }>(
      `EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) ${sql}`,
      values,
    );
    await pool.query("ROLLBACK");
    text += `\n${name}:\n${plan.rows.map((line) => `  ${line["QUERY PLAN"]}`).join("\n")}\n`;
  }
  await pool.end();
  return text;
}

export function row(name: string, ...columns: string[]): string {
  return name.padEnd(48) + columns.map((column) => column.padStart(10)).join("");
}
