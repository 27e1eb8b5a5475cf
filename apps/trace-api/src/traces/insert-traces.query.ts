import { rowIsLocked } from "@waymark/database";
import { planOf } from "@waymark/plan";
import type { IdempotencyKey } from "@waymark/service/http";
import {
  type BytesUsed,
  type Columns,
  type CountedRequest,
  columnArrays,
  hasLabels,
  hasUsageLockSql,
  type KeyRefusal,
  keyStateSql,
  lockedUsageSql,
  type NewTrace,
  type OnLock,
  onLockStatements,
  refusalOfBytes,
  rowSql,
  sizedTraceNames,
  storedBytes,
  textOf,
  traceColumns,
  unnestSql,
} from "@waymark/traces";
import type pg from "pg";

/** A trace to store, and its limits. */
export interface TraceToCreate extends CountedRequest {
  accountId: string;
  traceId: string;
  trace: NewTrace;
  idempotency: IdempotencyKey | undefined;
  otlp?: OtlpOrigin;
}

/** The OpenTelemetry origin of a trace. A second trace with its id violates `trace_otel_trace_id_key`. */
interface OtlpOrigin {
  /** In hexadecimal. */
  traceId: string;
  /** Whether the trace stores and counts its agent. Otherwise the account has the agent, or it is provisional. */
  claimsAgent: boolean;
  /** In hexadecimal, see `StoredTrace`. */
  nameOrigin: string;
  toldAgent: string | null;
  /** Where its labels come from. */
  labelOrigins: number;
}

/** `used` is the month's count after the trace. A replay has the `traceId` of the first request. */
export type CreateTraceResult =
  | ({ outcome: "created"; traceId: string; used: number } & BytesUsed)
  | { outcome: "replayed"; traceId: string; used: number }
  | { outcome: "agent_limit"; used: number }
  | { outcome: "trace_limit"; used: number }
  | ({ outcome: "byte_limit"; used: number } & BytesUsed)
  | KeyRefusal;

/** The result of one trace of a statement; undefined if its month has capacity for some of the account's traces only. */
type InsertResult = CreateTraceResult | typeof rowIsLocked | undefined;

/** A trace within the limit of agents. */
export interface TraceRow extends TraceToCreate {
  /** Whether the agent is stored already; otherwise the statement stores it with the trace. */
  isAgentKnown: boolean;
}

/** What a trace counts in its account's month. */
export function bytesOfTrace(trace: NewTrace): number {
  return storedBytes(sizedTraceNames.map((name) => textOf(trace[name])));
}

/** The month's counts as new as a statement knows them, null without a row. */
interface MonthAnswer {
  traces: number | null;
  bytes: number | null;
  is_stored: boolean;
  has_lock: boolean;
}

/** The members of {@link MonthAnswer} of `account`, after the CTEs `locked` and `quota`; $1 is the month. */
function monthAnswerSql(account: string): string {
  const newest = (column: "traces" | "bytes") => `COALESCE(quota.${column}, locked.${column}, (
    SELECT u.${column} FROM trace_usage u WHERE u.account_id = ${account}.account_id AND u.month = $1
  )) AS ${column}`;
  return `${newest("traces")}, ${newest("bytes")}, quota.account_id IS NOT NULL AS is_stored,
    locked.account_id IS NOT NULL AS has_lock`;
}

/** Says why a statement did not store an account's trace; the counts only rise. */
function refusalOf(row: TraceRow, { traces, bytes, has_lock }: MonthAnswer): InsertResult {
  if (traces !== null && traces >= row.plan.tracesPerMonth) return { outcome: "trace_limit", used: traces };
  const refusal = refusalOfBytes(row, bytes);
  if (refusal !== rowIsLocked) return { ...refusal, used: traces ?? 0 };
  return traces !== null && !has_lock ? rowIsLocked : undefined;
}

/** Traces with labels have more columns; those of one statement either all have labels, or none has. */
const labelKinds = ["plain", "labelled"] as const;
type LabelKind = (typeof labelKinds)[number];

export const labelKindOf = ({ trace }: Pick<TraceRow, "trace">): LabelKind => (hasLabels(trace) ? "labelled" : "plain");

const byLabels = <Made>(make: (kind: LabelKind) => Made) => ({ plain: make("plain"), labelled: make("labelled") });

const ownColumns = byLabels<Columns<TraceRow>>((kind) => ({
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  id: { type: "uuid", of: ({ traceId }) => traceId },
  ...traceColumns<TraceRow>(kind === "labelled", ({ trace }) => trace),
}));
const columns = byLabels<Columns<TraceRow>>((kind) => ({
  ...ownColumns[kind],
  otel_trace_id: { type: "bytea", of: ({ otlp }) => otlp && `\\x${otlp.traceId}` },
  name_origin: { type: "bytea", of: ({ otlp }) => otlp && `\\x${otlp.nameOrigin}` },
  told_agent: { type: "bytea", of: ({ otlp }) => otlp?.toldAgent && `\\x${otlp.toldAgent}` },
  ...(kind === "labelled" && { label_origins: { type: "smallint", of: ({ otlp }: TraceRow) => otlp?.labelOrigins } }),
}));
const namesOf = (ofTable: Columns<TraceRow>) => Object.keys(ofTable).join(", ");

/**
 * Adds each account's new traces and their bytes to its month ($1) and stores them; beyond a limit ($4, $8) it does neither.
 * The month's row stays locked until commit, and a waiting statement tests the newest count: the limit is exact. Rows
 * lock in the order of accounts, so instances do not deadlock. Per account two probes of `trace_usage_pkey`,
 * per trace one of `trace_pkey`, per new agent one of `agent_pkey`.
 */
const insertTracesSql = (kind: LabelKind, onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$2::uuid[]", month: "$1" })}, quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, $1, a.traces, a.bytes FROM unnest($2::uuid[], $3::int[], $7::bigint[]) AS a (account_id, traces, bytes)
    WHERE a.traces <= $4 AND a.bytes <= $8 AND ${hasUsageLockSql("a.account_id", "$1")} ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces, bytes = u.bytes + excluded.bytes
      WHERE u.traces + excluded.traces <= $4 AND u.bytes + excluded.bytes <= $8
    RETURNING account_id, traces, bytes
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, id FROM unnest($5::uuid[], $6::text[]) AS a (account_id, id) JOIN quota USING (account_id)
    ORDER BY account_id, id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (${namesOf(columns[kind])}) SELECT ${namesOf(columns[kind])} FROM ${unnestSql(9, columns[kind])}
    JOIN quota USING (account_id)
  )
  SELECT account_id, ${monthAnswerSql("a")}
  FROM unnest($2::uuid[]) AS a (account_id) LEFT JOIN quota USING (account_id) LEFT JOIN locked USING (account_id)`;

const statements = byLabels((kind) =>
  onLockStatements(`insert-${kind}-traces`, (onLock) => insertTracesSql(kind, onLock)),
);

interface AccountAnswer extends MonthAnswer {
  account_id: string;
}

/** Stores traces of one month and limit in one transaction; either all or none of them have idempotency keys. */
export async function insertTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
  onLock: OnLock,
): Promise<InsertResult[]> {
  if (rows[0]?.idempotency) return insertIdempotentTraces(db, rows, onLock);
  const alone = onLock === "skip" && isStoredAlone(rows) ? await tryInsertTrace(db, rows[0]) : undefined;
  if (alone) return [alone];
  const { month, plan } = rows[0] ?? { month: "", plan: planOf("free") };
  const kind = rows[0] ? labelKindOf(rows[0]) : "plain";
  const counts = new Map<string, number>();
  const sizes = new Map<string, number>();
  const positions = rows.map(({ accountId, bytes }) => {
    const position = (counts.get(accountId) ?? 0) + 1;
    counts.set(accountId, position);
    sizes.set(accountId, (sizes.get(accountId) ?? 0) + bytes);
    return position;
  });
  const newAgents = rows.filter(({ isAgentKnown }) => !isAgentKnown);
  const { rows: accounts } = await db.query<AccountAnswer>({
    ...statements[kind][onLock],
    values: [
      month,
      [...counts.keys()],
      [...counts.values()],
      plan.tracesPerMonth,
      newAgents.map(({ accountId }) => accountId),
      newAgents.map(({ trace }) => trace.agent_id),
      [...sizes.values()],
      plan.bytesPerMonth,
      ...columnArrays(rows, columns[kind]),
    ],
  });
  const byAccount = new Map(accounts.map((account) => [account.account_id, account]));
  return rows.map((row, index) => {
    const { accountId, traceId } = row;
    const answer = byAccount.get(accountId);
    if (!answer) return undefined;
    if (!answer.is_stored) return refusalOf(row, answer);
    const used = (answer.traces ?? 0) - (counts.get(accountId) ?? 0) + (positions[index] ?? 0);
    return { outcome: "created", traceId, used, usedBytes: answer.bytes ?? 0 };
  });
}

/** Does the same and waits for locks. Undefined also for an account that was deleted meanwhile. */
export async function insertLockedTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
): Promise<(CreateTraceResult | undefined)[]> {
  const results = await insertTraces(db, rows, "wait");
  return results.map((result) => (result === rowIsLocked ? undefined : result));
}

const oneColumns = byLabels((kind) => traceColumns<NewTrace>(kind === "labelled", (trace) => trace));

/**
 * Does the same as {@link insertTracesSql} for one trace of a stored agent, without arrays: Postgres takes about half the time.
 * Stores nothing if the month has no row, is full, or is locked. Two probes of `trace_usage_pkey`, one of `trace_pkey`.
 */
const insertOneTrace = byLabels((kind) => {
  const names = Object.keys(oneColumns[kind]);
  const [bytes, maxBytes] = [`$${5 + names.length}`, `$${6 + names.length}`];
  const text = `
    WITH locked AS MATERIALIZED (
      SELECT FROM trace_usage WHERE account_id = $1 AND month = $2 FOR NO KEY UPDATE SKIP LOCKED
    ), quota AS (
      UPDATE trace_usage SET traces = traces + 1, bytes = bytes + ${bytes}
      WHERE account_id = $1 AND month = $2 AND traces < $3 AND bytes + ${bytes} <= ${maxBytes} AND EXISTS (SELECT FROM locked)
      RETURNING traces, bytes
    ), stored AS (
      INSERT INTO trace (account_id, id, ${names.join(", ")})
      SELECT $1, $4::uuid, ${rowSql(5, oneColumns[kind])} FROM quota
    )
    SELECT traces, bytes FROM quota`;
  return { name: `insert-one-${kind}-trace`, text };
});

function isStoredAlone(rows: readonly TraceRow[]): rows is readonly [TraceRow] {
  const [row] = rows;
  return rows.length === 1 && row?.isAgentKnown === true && !row.idempotency && !row.otlp;
}

/** Stores a trace; undefined where a statement for many traces has to decide. */
async function tryInsertTrace(
  db: pg.Pool | pg.PoolClient,
  { accountId, traceId, month, plan, trace, bytes }: TraceRow,
): Promise<InsertResult> {
  const kind = labelKindOf({ trace });
  const fields = Object.values(oneColumns[kind]).map(({ of }) => of(trace));
  const { rows } = await db.query<[traces: number, bytes: number]>({
    ...insertOneTrace[kind],
    rowMode: "array",
    values: [accountId, month, plan.tracesPerMonth, traceId, ...fields, bytes, plan.bytesPerMonth],
  });
  const [stored] = rows;
  return stored && { outcome: "created", traceId, used: stored[0], usedBytes: stored[1] };
}

const idempotentColumns = byLabels<Columns<TraceRow>>((kind) => ({
  ...ownColumns[kind],
  is_agent_known: { type: "boolean", of: ({ isAgentKnown }) => isAgentKnown },
  bytes: { type: "int", of: ({ bytes }) => bytes },
  key: { type: "text", of: ({ idempotency }) => idempotency?.key },
  request_hash: { type: "bytea", of: ({ idempotency }) => idempotency?.requestHash },
}));

/**
 * Does the same as {@link insertTracesSql} for traces with idempotency keys. Only traces with a new key count and are stored,
 * each with its key in one transaction: the key is stored exactly when its trace is. The keys of a refused account stay
 * free. One further probe of `idempotency_key_pkey` per trace.
 */
const insertIdempotentTracesSql = (kind: LabelKind, onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: "$4::uuid[]", month: "$1" })}, asked AS MATERIALIZED (
    SELECT r.*, k.ids, ${keyStateSql} AS state FROM ${unnestSql(4, idempotentColumns[kind], { hasPosition: true })}
    LEFT JOIN idempotency_key k ON k.account_id = r.account_id AND k.key = r.key
  ), quota AS (
    INSERT INTO trace_usage AS u (account_id, month, traces, bytes)
    SELECT account_id, $1, count(*)::int, sum(bytes) FROM asked WHERE state = 'new' AND ${hasUsageLockSql("asked.account_id", "$1")}
    GROUP BY account_id HAVING count(*) <= $2 AND sum(bytes) <= $3 ORDER BY account_id
    ON CONFLICT (account_id, month) DO UPDATE SET traces = u.traces + excluded.traces, bytes = u.bytes + excluded.bytes
      WHERE u.traces + excluded.traces <= $2 AND u.bytes + excluded.bytes <= $3
    RETURNING account_id, traces, bytes
  ), granted AS (
    SELECT asked.* FROM asked JOIN quota USING (account_id) WHERE state = 'new'
  ), new_agents AS (
    INSERT INTO agent (account_id, id)
    SELECT DISTINCT account_id, agent_id FROM granted WHERE NOT is_agent_known ORDER BY account_id, agent_id
    ON CONFLICT (account_id, id) DO UPDATE SET is_provisional = false WHERE agent.is_provisional
  ), stored AS (
    INSERT INTO trace (${namesOf(ownColumns[kind])}) SELECT ${namesOf(ownColumns[kind])} FROM granted
  ), remembered AS (
    INSERT INTO idempotency_key (account_id, key, request_hash, ids)
    SELECT account_id, key, request_hash, ARRAY[id] FROM granted
  )
  SELECT state, ids, ${monthAnswerSql("asked")}
  FROM asked LEFT JOIN quota USING (account_id) LEFT JOIN locked USING (account_id) ORDER BY position`;

const idempotentStatements = byLabels((kind) =>
  onLockStatements(`insert-idempotent-${kind}-traces`, (onLock) => insertIdempotentTracesSql(kind, onLock)),
);

interface IdempotentAnswer extends MonthAnswer {
  state: "new" | "replayed" | "key_reused" | "key_in_use";
  ids: string[] | null;
}

/** Stores traces of one month and limit in one transaction. All have idempotency keys, and no key comes twice. */
async function insertIdempotentTraces(
  db: pg.Pool | pg.PoolClient,
  rows: readonly TraceRow[],
  onLock: OnLock,
): Promise<InsertResult[]> {
  const { month, plan } = rows[0] ?? { month: "", plan: planOf("free") };
  const kind = rows[0] ? labelKindOf(rows[0]) : "plain";
  const { rows: answers } = await db.query<IdempotentAnswer>({
    ...idempotentStatements[kind][onLock],
    values: [month, plan.tracesPerMonth, plan.bytesPerMonth, ...columnArrays(rows, idempotentColumns[kind])],
  });
  const left = new Map<string, number>();
  // Backwards: the month's count after a trace is the final count less the traces after it.
  return rows
    .map((row, index) => ({ row, answer: answers[index] as IdempotentAnswer }))
    .reverse()
    .map(({ row, answer }): InsertResult => {
      const { accountId, traceId } = row;
      const { state, ids, traces, bytes, is_stored } = answer;
      if (state === "key_reused" || state === "key_in_use") return { outcome: state };
      if (state === "replayed") return { outcome: state, traceId: ids?.[0] ?? traceId, used: traces ?? 0 };
      if (!is_stored) return refusalOf(row, answer);
      const count = left.get(accountId) ?? traces ?? 0;
      left.set(accountId, count - 1);
      return { outcome: "created", traceId, used: count, usedBytes: bytes ?? 0 };
    })
    .reverse();
}
