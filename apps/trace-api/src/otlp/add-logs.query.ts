import type { rowIsLocked } from "@waymark/database";
import {
  type Batching,
  type BytesUsed,
  type Columns,
  type CountedRequest,
  columnArrays,
  grantBytesSql,
  lockedUsageSql,
  type OnLock,
  onLockStatements,
  refusalOfBytes,
  storedBytes,
  unnestSql,
  usedBytesSql,
} from "@waymark/traces";
import { hasContent, type MappedLog } from "@waymark/traces/otlp";
import type pg from "pg";

export interface LogsToAdd extends Omit<CountedRequest, "bytes"> {
  accountId: string;
  logs: readonly MappedLog[];
}

/** How many of the records each limit refused; without an outcome of their own, the others are stored. */
export type LogsResult =
  | ({ outcome: "stored"; span_logs: number; waiting_logs: number } & BytesUsed)
  | ({ outcome: "byte_limit" } & BytesUsed);

/** Log records of a span, and their bytes: completing a span reads all of them. */
export const maxLogsPerSpan = { records: 1_000, bytes: 4 * 1_048_576 } as const;
/** Records of an account that wait for their spans; those with contents and others have as many each. Concurrent requests may exceed it. */
export const maxWaitingLogs = { records: 10_000, bytes: 32 * 1_048_576 } as const;

type LogRow = { position: number; log: MappedLog };

const requestColumns: Columns<LogsToAdd> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  max_bytes: { type: "bigint", of: ({ plan }) => plan.bytesPerMonth },
};
const logColumns: Columns<LogRow> = {
  position: { type: "int", of: ({ position }) => position },
  otel_trace_id: { type: "bytea", of: ({ log }) => `\\x${log.traceId}` },
  span_id: { type: "bytea", of: ({ log }) => `\\x${log.spanId}` },
  id: { type: "uuid", of: ({ log }) => log.id },
  nanos: { type: "bigint", of: ({ log }) => log.nanos },
  place: { type: "int", of: ({ log }) => log.place },
  name: { type: "text", of: ({ log }) => log.name },
  has_content: { type: "boolean", of: ({ log }) => hasContent(log.name) },
  event: { type: "json", of: ({ log }) => log.event },
  input: { type: "json", of: ({ log }) => log.input },
  output: { type: "json", of: ({ log }) => log.output },
  error: { type: "text", of: ({ log }) => log.error },
  bytes: { type: "int", of: ({ log }) => bytesOfLog(log) },
};
const requestsFrom = 2;
const logsFrom = requestsFrom + Object.keys(requestColumns).length;
const requests = unnestSql(requestsFrom, requestColumns, { hasPosition: true });
const storedNames = Object.keys(logColumns)
  .filter((name) => name !== "position")
  .join(", ");
const sameSpan = (a: string, b: string) =>
  `${a}.account_id = ${b}.account_id AND ${a}.otel_trace_id = ${b}.otel_trace_id AND ${a}.span_id = ${b}.span_id`;

/**
 * Stores log records that are new, but for those of deleted traces, of spans with {@link maxLogsPerSpan} and above
 * {@link maxWaitingLogs}, if the month ($1) takes the bytes of a request's. They go in by rising keys, so statements of several
 * instances wait for each other and do not deadlock. A probe of `span_log_pkey` and `deleted_otel_trace_pkey` for a record, a
 * range of the former for a span, of `span_log_waiting_idx` and `trace_usage_pkey` for an account.
 */
const insertLogsSql = (onLock: OnLock) => `
  WITH ${lockedUsageSql(onLock, { accounts: `$${requestsFrom}::uuid[]`, month: "$1" })}, asked AS MATERIALIZED (
    SELECT * FROM ${requests}
  ), brought AS MATERIALIZED (
    SELECT asked.account_id, r.* FROM ${unnestSql(logsFrom, logColumns)} JOIN asked USING (position)
    WHERE NOT EXISTS (
      SELECT FROM span_log o WHERE o.account_id = asked.account_id AND o.otel_trace_id = r.otel_trace_id
        AND o.span_id = r.span_id AND o.id = r.id
    ) AND NOT EXISTS (
      SELECT FROM deleted_otel_trace d WHERE d.account_id = asked.account_id AND d.otel_trace_id = r.otel_trace_id
    )
  ), crowded AS MATERIALIZED (
    SELECT account_id, otel_trace_id, span_id FROM brought b GROUP BY account_id, otel_trace_id, span_id
    HAVING count(*) + (SELECT count(*) FROM span_log o WHERE ${sameSpan("o", "b")}) > ${maxLogsPerSpan.records}
      OR sum(bytes) + (SELECT COALESCE(sum(o.bytes), 0) FROM span_log o WHERE ${sameSpan("o", "b")}) > ${maxLogsPerSpan.bytes}
  ), full_shares AS MATERIALIZED (
    SELECT account_id, has_content FROM brought b GROUP BY account_id, has_content
    HAVING EXISTS (
      SELECT FROM (
        SELECT o.bytes FROM span_log o
        WHERE o.account_id = b.account_id AND o.has_content = b.has_content AND NOT o.is_used LIMIT ${maxWaitingLogs.records}
      ) w HAVING count(*) = ${maxWaitingLogs.records} OR sum(w.bytes) > ${maxWaitingLogs.bytes}
    )
  ), judged AS MATERIALIZED (
    SELECT b.*, CASE WHEN (account_id, otel_trace_id, span_id) IN (SELECT * FROM crowded) THEN 'span'
      WHEN (account_id, has_content) IN (SELECT * FROM full_shares) THEN 'waiting' END AS refused_by
    FROM brought b
  ), wanted AS MATERIALIZED (
    SELECT asked.*, COALESCE(sum(j.bytes) FILTER (WHERE refused_by IS NULL), 0)::int AS bytes_to_add,
      count(*) FILTER (WHERE refused_by = 'span') AS span_logs, count(*) FILTER (WHERE refused_by = 'waiting') AS waiting_logs
    FROM asked LEFT JOIN judged j USING (position) GROUP BY asked.position, asked.account_id, asked.max_bytes
  ), ${grantBytesSql("wanted", "$1")}, stored AS (
    INSERT INTO span_log (account_id, ${storedNames})
    SELECT account_id, ${storedNames} FROM judged
    WHERE refused_by IS NULL AND position IN (SELECT position FROM granted)
    ORDER BY account_id, otel_trace_id, span_id, id
    ON CONFLICT (account_id, otel_trace_id, span_id, id) DO NOTHING
  )
  SELECT granted.position IS NOT NULL, wanted.bytes_to_add, wanted.span_logs::int, wanted.waiting_logs::int,
    ${usedBytesSql("wanted.account_id", "$1")}
  FROM wanted LEFT JOIN granted USING (position) ORDER BY wanted.position`;

const statements = onLockStatements("insert-logs", insertLogsSql);

type Answer = [isStored: boolean, bytesToAdd: number, spanLogs: number, waitingLogs: number, usedBytes: number | null];

export function createLogStore({ pool, createGroupCommit }: Batching) {
  return createGroupCommit<LogsToAdd, LogsResult>({
    name: "add-logs",
    run: (rows) => insertLogs(pool, rows, "skip"),
    runLocked: (rows) => insertLogs(pool, rows, "wait"),
    // The month's row exists after a wait.
    giveUp: () => undefined,
    kindOf: ({ month }) => month,
    countOf: ({ logs }) => logs.length,
    bytesOf: ({ logs }) => logs.reduce((sum, log) => sum + bytesOfLog(log), 0),
  });
}

/** What a record counts in its account's month, and in the limits above: its key and its texts. */
export function bytesOfLog({ event, input, output, error }: MappedLog): number {
  return storedBytes([event, input, output, error]);
}

async function insertLogs(
  pool: pg.Pool,
  rows: readonly LogsToAdd[],
  onLock: OnLock,
): Promise<(LogsResult | typeof rowIsLocked)[]> {
  const logRows = rows.flatMap(({ logs }, n) => logs.map((log) => ({ position: n + 1, log })));
  const values = [rows[0]?.month, ...columnArrays(rows, requestColumns), ...columnArrays(logRows, logColumns)];
  const { rows: answers } = await pool.query<Answer>({ ...statements[onLock], rowMode: "array", values });
  return rows.map(({ plan }, index) => {
    const [isStored, bytes, span_logs, waiting_logs, usedBytes] = answers[index] ?? [false, 0, 0, 0, null];
    if (!isStored) return refusalOfBytes({ bytes, plan }, usedBytes);
    return { outcome: "stored", span_logs, waiting_logs, usedBytes: usedBytes ?? 0 };
  });
}
