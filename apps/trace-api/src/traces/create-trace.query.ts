import { binaryArray, type CreateGroupCommit, rowIsLocked, withTransaction } from "@waymark/database";
import type pg from "pg";
import { createKnownAgents } from "../agents/known-agents.js";
import { settleAgent } from "../agents/settle-agent.query.js";
import type { TraceCapacity } from "../spans/trace-capacity.js";
import { insertIdempotentTraces } from "./create-trace-once.query.js";
import {
  type CreateTraceResult,
  hasUsageLockSql,
  type InsertResult,
  lockedUsageSql,
  refusalOf,
  type TraceRow,
  type TraceToCreate,
} from "./trace-row.js";

/**
 * Adds each account's new traces to its month ($1) and stores them, or does neither where they do not all fit the limit
 * ($4); an account that was refused comes with the count seen. The month's row is locked until commit, and a waiting
 * statement tests the newest count, so that the limit is exact under any concurrency. An account whose row another
 * transaction has is left alone with `SKIP LOCKED` and waited for without; several are locked in the order of accounts, so
 * that statements of several instances do not deadlock. Two probes of `trace_usage_pkey` for each account, one of
 * `trace_pkey` for each trace, and of `agent_pkey` for each new agent.
 */
const insertTracesSql = (wait: "" | "SKIP LOCKED") => `
  WITH ${lockedUsageSql(wait)}, quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces)
    SELECT account_id, $1, a.traces FROM unnest($2::uuid[], $3::int[]) AS a (account_id, traces)
    WHERE a.traces <= $4 AND ${hasUsageLockSql("a.account_id")} ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces
      WHERE u.traces + excluded.traces <= $4
    RETURNING account_id, traces
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, id FROM unnest($5::uuid[], $6::text[]) AS a (account_id, id) JOIN quota USING (account_id)
    ORDER BY account_id, id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at, metadata, otel_trace_id)
    SELECT account_id, id, agent_id, name, status, started_at, ended_at, metadata, otel_trace_id
    FROM unnest($7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::json[],
      $15::bytea[])
      AS t (account_id, id, agent_id, name, status, started_at, ended_at, metadata, otel_trace_id)
    JOIN quota USING (account_id)
  )
  SELECT account_id, quota.traces AS used, CASE WHEN quota.traces IS NULL THEN (
    SELECT u.traces FROM trace_usage u WHERE u.account_id = a.account_id AND u.month = $1
  ) END AS seen, locked.account_id IS NOT NULL AS has_lock
  FROM unnest($2::uuid[]) AS a (account_id) LEFT JOIN quota USING (account_id) LEFT JOIN locked USING (account_id)`;

const insertUnlocked = { name: "insert-traces", text: insertTracesSql("SKIP LOCKED") };
const insertLocked = { name: "insert-locked-traces", text: insertTracesSql("") };

/**
 * Whether the account has the agent, how many it has, and whether there is a provisional one besides, which counts for
 * neither. Reads the account's range of `agent_pkey`, whose length is bounded by the plan: it is asked only where there is
 * a limit.
 */
const findAgentSql = `
  SELECT COALESCE(bool_or(id = $2 AND NOT is_provisional), false) AS known,
    count(*) FILTER (WHERE NOT is_provisional)::int AS agents, COALESCE(bool_or(is_provisional), false) AS provisional
  FROM agent WHERE account_id = $1`;

/** Held to the end of the transaction: of an account's first uses of agents, one at a time decides about the limit. */
export const lockAgentsSql = "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE";

/** The month's count; one probe of `trace_usage_pkey`. */
const readUsageSql = "SELECT traces FROM trace_usage WHERE account_id = $1 AND month = $2";

/** Whether a request was stored with the key; one probe of `idempotency_key_pkey`. */
const findKeySql = "SELECT FROM idempotency_key WHERE account_id = $1 AND key = $2";

interface AccountAnswer {
  account_id: string;
  used: number | null;
  seen: number | null;
  has_lock: boolean;
}

/** Creates traces, each with its agent and its place in the month, exactly within the plan's limits. */
export function createTraceStore({
  pool,
  createGroupCommit,
  capacity,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  capacity: TraceCapacity;
}) {
  const knownAgents = createKnownAgents();
  const insertTogether = createGroupCommit<TraceRow, CreateTraceResult | undefined>({
    name: "create-trace",
    run: (rows) => insertTraces(pool, rows, "SKIP LOCKED"),
    runLocked: async (rows) => (await insertTraces(pool, rows, "")).map(unlessLocked),
    bytesOf: ({ trace }) => trace.metadata?.text.length ?? 0,
    kindOf: ({ month, plan, idempotency }) => `${month} ${plan.tracesPerMonth} ${idempotency !== undefined}`,
  });

  const insertAlone = createGroupCommit<TraceRow, CreateTraceResult | undefined>({
    name: "create-trace-alone",
    run: async (rows) => (await insertTraces(pool, rows, "")).map(unlessLocked),
    bytesOf: ({ trace }) => trace.metadata?.text.length ?? 0,
    maxRows: 1,
    maxInFlight: 2,
    maxInFlightPerOwner: 1,
  });

  const claimAgent = createGroupCommit<TraceToCreate & { maxAgents: number }, CreateTraceResult>({
    name: "create-trace-of-new-agent",
    run: (rows) => Promise.all(rows.map((row) => claimAgentAlone(pool, row, row.maxAgents))),
    bytesOf: ({ trace }) => trace.metadata?.text.length ?? 0,
    maxRows: 1,
    maxInFlight: 2,
    maxInFlightPerOwner: 1,
  });

  /** Of an account whose month has room for some of a batch of its traces, each is decided by itself. */
  async function insert(row: TraceRow): Promise<CreateTraceResult> {
    const result = (await insertTogether(row)) ?? (await insertAlone(row));
    return result ?? { outcome: "trace_limit", used: await readUsage(pool, row) };
  }

  async function insertWithinAgentLimit(input: TraceToCreate, maxAgents: number): Promise<CreateTraceResult> {
    const { known, agents } = await findAgent(pool, input.accountId, input.trace.agent_id);
    if (known) return insert({ ...input, isAgentKnown: true });
    if (agents >= maxAgents) return refuseAgent(pool, input);
    return claimAgent({ ...input, maxAgents });
  }

  return async function createTrace(input: TraceToCreate): Promise<CreateTraceResult> {
    const result = await createWithinLimits(input);
    if (result.outcome === "created") capacity.created(input.accountId, result.traceId);
    return result;
  };

  async function createWithinLimits(input: TraceToCreate): Promise<CreateTraceResult> {
    if (input.otlp?.claimsAgent === false) return insert({ ...input, isAgentKnown: true });
    const isAgentKnown = knownAgents.has(input.accountId, input.trace.agent_id);
    const maxAgents = input.plan.agents;
    const result =
      isAgentKnown || maxAgents === null
        ? await insert({ ...input, isAgentKnown })
        : await insertWithinAgentLimit(input, maxAgents);
    if (!isAgentKnown && result.outcome === "created") knownAgents.add(input.accountId, input.trace.agent_id);
    return result;
  }
}

/**
 * Stores traces of one month and limit, all with idempotency keys or none, in one transaction.
 * @param wait whether the rows of the month that another transaction has are waited for
 */
export async function insertTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
  wait: "" | "SKIP LOCKED",
): Promise<InsertResult[]> {
  if (rows[0]?.idempotency) return insertIdempotentTraces(db, rows, wait);
  const { month, plan } = rows[0] ?? { month: "", plan: { tracesPerMonth: 0 } };
  const places = new Map<string, number>();
  const placeOf = rows.map(({ accountId }) => {
    const place = (places.get(accountId) ?? 0) + 1;
    places.set(accountId, place);
    return place;
  });
  const newAgents = rows.filter(({ isAgentKnown }) => !isAgentKnown);
  const { rows: accounts } = await db.query<AccountAnswer>({
    ...(wait ? insertUnlocked : insertLocked),
    values: [
      month,
      [...places.keys()],
      [...places.values()],
      plan.tracesPerMonth,
      newAgents.map(({ accountId }) => accountId),
      newAgents.map(({ trace }) => trace.agent_id),
      rows.map(({ accountId }) => accountId),
      rows.map(({ traceId }) => traceId),
      rows.map(({ trace }) => trace.agent_id),
      rows.map(({ trace }) => trace.name),
      rows.map(({ trace }) => trace.status),
      rows.map(({ trace }) => trace.started_at),
      rows.map(({ trace }) => trace.ended_at),
      binaryArray(
        "json",
        rows.map(({ trace }) => trace.metadata?.text ?? null),
      ),
      rows.map(({ otlp }) => otlp && `\\x${otlp.traceId}`),
    ],
  });
  const byAccount = new Map(accounts.map((account) => [account.account_id, account]));
  return rows.map(({ accountId, traceId }, index) => {
    const { used = null, seen = null, has_lock = false } = byAccount.get(accountId) ?? {};
    if (used !== null) {
      return { outcome: "created", traceId, used: used - (places.get(accountId) ?? 0) + (placeOf[index] ?? 0) };
    }
    return refusalOf(seen, has_lock, plan.tracesPerMonth);
  });
}

/** A statement that waits for locks has them; a month that was deleted meanwhile, with its account, has no capacity. */
export function unlessLocked(result: InsertResult): CreateTraceResult | undefined {
  return result === rowIsLocked ? undefined : result;
}

/** The first trace of a new agent: both are stored or neither, and the agent limit is decided under a lock. */
function claimAgentAlone(pool: pg.Pool, input: TraceToCreate, maxAgents: number): Promise<CreateTraceResult> {
  return withTransaction(pool, (client) => claimAgentLocked(client, input, maxAgents));
}

async function claimAgentLocked(
  client: pg.PoolClient,
  input: TraceToCreate,
  maxAgents: number,
): Promise<CreateTraceResult> {
  await client.query(lockAgentsSql, [input.accountId]);
  const { accountId, trace } = input;
  const { known, agents, provisional } = await findAgent(client, accountId, trace.agent_id);
  if (!known && agents >= maxAgents) return refuseAgent(client, input);
  const [result] = (await insertTraces(client, [{ ...input, isAgentKnown: known }], "")).map(unlessLocked);
  if (result?.outcome === "created" && provisional) await settleAgent(client, accountId, trace.agent_id);
  return result ?? { outcome: "trace_limit", used: await readUsage(client, input) };
}

/** A trace whose key is another request's is refused for that: its agent was never asked for. */
async function refuseAgent(db: pg.Pool | pg.PoolClient, input: TraceToCreate): Promise<CreateTraceResult> {
  if (input.idempotency) {
    const { rowCount } = await db.query(findKeySql, [input.accountId, input.idempotency.key]);
    if (rowCount) return { outcome: "key_reused" };
  }
  return { outcome: "agent_limit", used: await readUsage(db, input) };
}

/** Whether the account has the agent, how many it has, and whether there is a provisional one besides. */
export async function findAgent(db: pg.Pool | pg.PoolClient, accountId: string, agentId: string) {
  const { rows } = await db.query<{ known: boolean; agents: number; provisional: boolean }>({
    name: "find-agent",
    text: findAgentSql,
    values: [accountId, agentId],
  });
  return rows[0] ?? { known: false, agents: 0, provisional: false };
}

/** The month's count of created traces. */
export async function readUsage(
  db: pg.Pool | pg.PoolClient,
  { accountId, month }: Pick<TraceToCreate, "accountId" | "month">,
): Promise<number> {
  const { rows } = await db.query<{ traces: number }>(readUsageSql, [accountId, month]);
  return rows[0]?.traces ?? 0;
}
