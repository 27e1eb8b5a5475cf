import type pg from "pg";
import { groupFailures } from "./group-failures.js";

/** What went wrong in a trace. */
interface TraceFailure {
  traceId: string;
  id: string;
  agentId: string;
  spanName: string | null;
  /** Without numbers, ids and quotations. */
  error: string | null;
  isMuted: boolean;
}

/** Failed traces of one account with a valid group: probes of `trace_pkey`, `trace_failure_pkey`, `failure_pkey` and `mute_pkey`. */
const readFailuresSql = `
  SELECT t.id AS "traceId", f.id, f.agent_id AS "agentId", f.span_name AS "spanName", f.error,
    m.failure_id IS NOT NULL AS "isMuted"
  FROM unnest($2::uuid[]) AS q (id)
  JOIN trace t ON t.account_id = $1 AND t.id = q.id AND t.status IN ('error', 'timeout')
  JOIN trace_failure g ON g.account_id = $1 AND g.trace_id = q.id AND g.written_at = t.written_at
  JOIN failure f ON f.account_id = $1 AND f.id = g.failure_id
  LEFT JOIN mute m ON m.account_id = $1 AND m.failure_id = f.id AND (m.until IS NULL OR m.until > now())`;

/** What went wrong in those of the account's traces that have failed, in no order; works it out where it is not known. */
export async function readTraceFailures(
  pool: pg.Pool,
  accountId: string,
  traceIds: readonly string[],
): Promise<TraceFailure[]> {
  const read = async (ids: readonly string[]) => {
    const statement = { name: "read-trace-failures", text: readFailuresSql, values: [accountId, ids] };
    return (await pool.query<TraceFailure>(statement)).rows;
  };
  const known = await read(traceIds);
  const isKnown = new Set(known.map(({ traceId }) => traceId));
  const missing = traceIds.filter((id) => !isKnown.has(id));
  if (missing.length === 0) return known;
  await groupFailures(
    pool,
    missing.map((traceId) => ({ accountId, traceId })),
  );
  return [...known, ...(await read(missing))];
}
