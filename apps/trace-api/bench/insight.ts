import { cpus } from "node:os";
import { createAccount, issueKey } from "@waymark/accounts";
import { createPrisma } from "@waymark/database/prisma";
import { settleCalls } from "@waymark/traces";
import type pg from "pg";
import { createGet, measureCase, row } from "./find.js";
import type { Subject } from "./measure.js";

/** Traces of the account, spread evenly over these days, each with a span of its agent and ten model calls below that. */
const traceCount = 50_000;
const callsPerTrace = 10;
const days = 30;
const baselineRuns = 5;

/** 20 agents, 10 models, 1 in 20 failed. */
const loadTracesSql = `
  INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
  SELECT $1, (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || left(md5(n::text), 3) || '8' || right(md5(n::text), 15))::uuid,
    'agent-' || n % 20, 'Answer Ticket ' || n, CASE WHEN n % 20 = 0 THEN 'error' ELSE 'success' END, at, at + (1000 + n * 7919 % 100003) * interval '1 ms'
  FROM (SELECT n, now() - n * ($3::int * interval '1 day' / $2::int) AS at FROM generate_series(1, $2::int) n) t`;

const loadSpansSql = `
  INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, error, parent_span_id, attributes)
  SELECT account_id, t.id, (left(t.id::text, 24) || lpad(to_hex(c), 12, '0'))::uuid, CASE c WHEN 0 THEN 'agent' ELSE 'call' END,
    CASE WHEN t.status = 'error' AND c = 1 THEN 'error' ELSE 'ok' END, started_at, ended_at,
    CASE WHEN t.status = 'error' AND c = 1 THEN 'Tool ' || ascii(right(t.name, 1)) % 7 || ' failed' END,
    CASE WHEN c > 0 THEN left(t.id::text, 24) || lpad('0', 12, '0') END,
    CASE WHEN c > 0 THEN json_build_object('attributes', json_build_object('gen_ai.provider.name', 'openai',
      'gen_ai.response.model', 'model-' || c, 'gen_ai.usage.input_tokens', 1000 + c, 'gen_ai.usage.output_tokens', 100)) END
  FROM trace t, generate_series(0, $2::int) c WHERE account_id = $1`;

const loadCallsSql = `
  INSERT INTO model_call (account_id, trace_id, span_id, started_at, provider, model, input_tokens, output_tokens,
    cached_input_tokens, cache_write_tokens, reasoning_tokens, cost)
  SELECT account_id, trace_id, id, started_at, 'openai', attributes #>> '{attributes,gen_ai.response.model}',
    (attributes #>> '{attributes,gen_ai.usage.input_tokens}')::bigint, 100, 0, 0, 0, 0.0035
  FROM span WHERE account_id = $1 AND attributes IS NOT NULL`;

const loadRestSql =
  "INSERT INTO agent (account_id, id) SELECT DISTINCT account_id, agent_id FROM trace WHERE account_id = $1";

/** The same sums by model without any table for them. */
const baselineSql = `
  SELECT attributes #>> '{attributes,gen_ai.response.model}' AS model, count(*),
    sum((attributes #>> '{attributes,gen_ai.usage.input_tokens}')::bigint),
    sum((attributes #>> '{attributes,gen_ai.usage.output_tokens}')::bigint)
  FROM span WHERE account_id = $1 AND started_at >= now() - interval '30 days' AND attributes IS NOT NULL GROUP BY 1`;

/** Fills the database, settles the model calls, and reads sums, series and failures over HTTP, one request at a time. */
export async function insight(pool: pg.Pool, subject: Subject): Promise<string> {
  const prisma = createPrisma(pool);
  const { id: accountId } = await createAccount(prisma, { email: "insight@example.com", plan: "pro" });
  const { key } = await issueKey(pool, { accountId, service: "trace", name: "bench" });
  await pool.query(loadTracesSql, [accountId, traceCount, days]);
  await pool.query(loadSpansSql, [accountId, callsPerTrace]);
  await pool.query(loadCallsSql, [accountId]);
  await pool.query(loadRestSql, [accountId]);
  await pool.query("VACUUM ANALYZE");
  const settleMs = await timed(async () => {
    while (!(await settleCalls(pool, accountId)));
  });
  await pool.query("VACUUM ANALYZE");
  await pool.query("CHECKPOINT");
  const get = createGet(`http://127.0.0.1:${subject.process.port}`, key);
  const { body } = await get("/traces?limit=1");
  const [trace] = body["traces"] as { id: string }[];
  const ago = (wanted: number) => new Date(Date.now() - wanted * 86_400_000).toISOString();
  const cases = [
    ["sums by model, 30 days", "/usage/models"],
    ["sums by model, one agent", "/usage/models?agent_id=agent-3"],
    ["usage of a trace", `/traces/${trace?.id}?include=usage`],
    ["traces of at least 0.01 dollars", "/traces?min_cost=0.01"],
    ["series of an agent, days", `/agents/agent-3/series?interval=day&from=${ago(days)}`],
    ["series of an agent, hours", `/agents/agent-3/series?interval=hour&from=${ago(days)}`],
    ["agents with figures", `/agents?include=figures&from=${ago(days)}`],
    ["failures", `/failures?from=${ago(days)}`],
  ] as const;
  const lines = [
    `One account with ${traceCount.toLocaleString("en")} traces and ${(traceCount * callsPerTrace).toLocaleString("en")} model calls over ${days} days; one request at a time.`,
    `${new Date().toISOString()}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}.`,
    `Settling all calls: ${(settleMs / 1000).toFixed(1)} s, ${Math.round((traceCount * callsPerTrace) / (settleMs / 1000))} calls a second.`,
    "",
    row("", "status", "entries", "requests", "p50 ms", "p99 ms"),
  ];
  for (const [name, path] of cases) {
    const { status, entries, requests, p50Ms, p99Ms } = await measureCase({ name, ask: () => path }, get);
    lines.push(row(name, String(status), entries, String(requests), p50Ms.toFixed(1), p99Ms.toFixed(1)));
  }
  const baseline: number[] = [];
  for (let n = 0; n < baselineRuns; n++) baseline.push(await timed(() => pool.query(baselineSql, [accountId])));
  const median = baseline.sort((a, b) => a - b)[Math.floor(baselineRuns / 2)] ?? 0;
  lines.push("", `Plain SQL over the spans' attributes, sums by model: ${median.toFixed(0)} ms.`);
  return `${lines.join("\n")}\n`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
