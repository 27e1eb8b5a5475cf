import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { formatUuid, withTransaction } from "@waymark/database";
import type pg from "pg";
import type { LoggedBatching } from "../batching.js";
import { failingSpanSql } from "../failing-span.js";
import { maxErrorInput, normalizeError } from "./normalize-error.js";

interface FailedTrace {
  accountId: string;
  traceId: string;
}

/** What went wrong in traces: their agent, and the innermost failing span's name and error, both without particulars. */
interface FailureKind {
  agentId: string;
  spanName: string | null;
  error: string | null;
}

/** Kinds of an account at most. Beyond it further kinds of an agent count as one, with {@link otherError}. */
const maxFailureKinds = 10_000;
export const otherError = "(other)";

/** A transaction takes some milliseconds. */
const maxTogether = 200;
/** Traces whose names and errors are normalized before others' work goes on: some 5 ms. */
const tracesPerTurn = 10;

/**
 * Begins the groups of failed traces: locks their rows without a group. Whoever adds a failing span afterwards waits for the
 * transaction and then clears the group, and a span that was committed before is seen by the next statement. Probes of
 * `trace_pkey` and `trace_failure_pkey`, in one order everywhere.
 */
const beginSql = `
  INSERT INTO trace_failure (account_id, trace_id, written_at)
  SELECT t.account_id, t.id, t.written_at FROM unnest($1::uuid[], $2::uuid[]) AS q (account_id, id)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.id
  WHERE t.status IN ('error', 'timeout') ORDER BY t.account_id, t.id
  ON CONFLICT (account_id, trace_id) DO UPDATE SET failure_id = NULL, written_at = excluded.written_at
  RETURNING account_id, trace_id`;

/** Reads the innermost failing span of each trace: a probe of `trace_pkey` and a range of `span_pkey`. */
const readSql = `
  SELECT t.account_id, t.id, t.agent_id, left(span.name, ${maxErrorInput + 1}), left(span.error, ${maxErrorInput + 1})
  FROM unnest($1::uuid[], $2::uuid[]) AS q (account_id, id)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.id
  LEFT JOIN LATERAL (
    WITH one AS (SELECT q.account_id, q.id AS trace_id), ${failingSpanSql("one")} SELECT id FROM innermost
  ) AS innermost ON true
  LEFT JOIN span ON span.account_id = q.account_id AND span.trace_id = q.id AND span.id = innermost.id`;

/** Keeps known kinds, and adds new ones while the account has fewer than $6; returns those. Ranges of `failure_pkey`. */
const keepSql = `
  WITH kinds AS (
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS k (account_id, id, agent_id, span_name, error)
  ), full_accounts AS MATERIALIZED (
    SELECT a.account_id FROM (SELECT DISTINCT account_id FROM kinds) AS a
    WHERE (SELECT count(*) FROM failure f WHERE f.account_id = a.account_id) >= $6
  ), kept AS MATERIALIZED (
    SELECT * FROM kinds k
    WHERE k.account_id NOT IN (SELECT account_id FROM full_accounts) OR (k.error = '${otherError}' AND k.span_name IS NULL)
      OR EXISTS (SELECT FROM failure f WHERE f.account_id = k.account_id AND f.id = k.id)
  ), stored AS (
    INSERT INTO failure AS f (account_id, id, agent_id, span_name, error) SELECT * FROM kept ORDER BY account_id, id
    ON CONFLICT (account_id, id) DO UPDATE SET seen_at = now() WHERE f.seen_at < now() - interval '1 day'
  )
  SELECT id FROM kept`;

const endSql = `
  UPDATE trace_failure f SET failure_id = q.failure_id FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS q (account_id, id, failure_id)
  WHERE f.account_id = q.account_id AND f.trace_id = q.id`;

type Read = [accountId: string, traceId: string, agentId: string, spanName: string | null, error: string | null];

/** Works out what went wrong in those of the traces that have failed, and stores it. */
export async function groupFailures(
  pool: pg.Pool,
  traces: readonly FailedTrace[],
  maxKinds = maxFailureKinds,
): Promise<void> {
  for (let start = 0; start < traces.length; start += maxTogether) {
    await withTransaction(pool, (client) => group(client, traces.slice(start, start + maxTogether), maxKinds));
  }
}

async function group(client: pg.ClientBase, traces: readonly FailedTrace[], maxKinds: number): Promise<void> {
  const query = async <Row extends unknown[]>(name: string, text: string, values: unknown[]): Promise<Row[]> =>
    (await client.query<Row>({ name, text, values, rowMode: "array" })).rows;
  const begun = await query<[string, string]>("begin-failures", beginSql, [
    traces.map(({ accountId }) => accountId),
    traces.map(({ traceId }) => traceId),
  ]);
  if (begun.length === 0) return;
  const read = await query<Read>("read-failing-spans", readSql, [begun.map(([id]) => id), begun.map(([, id]) => id)]);
  const found: { accountId: string; traceId: string; kind: FailureKind; id: string }[] = [];
  for (const [accountId, traceId, agentId, spanName, error] of read) {
    const kind = { agentId, spanName: spanName && normalizeError(spanName), error: error && normalizeError(error) };
    found.push({ accountId, traceId, kind, id: idOf(accountId, kind) });
    if (found.length % tracesPerTurn === 0) await setImmediate();
  }
  const keep = (kinds: readonly { accountId: string; id: string; kind: FailureKind }[]) => {
    const distinct = [...new Map(kinds.map((each) => [each.id, each])).values()];
    return query<[string]>("keep-failures", keepSql, [
      distinct.map(({ accountId }) => accountId),
      distinct.map(({ id }) => id),
      distinct.map(({ kind }) => kind.agentId),
      distinct.map(({ kind }) => kind.spanName),
      distinct.map(({ kind }) => kind.error),
      maxKinds,
    ]);
  };
  const kept = new Set((await keep(found)).map(([id]) => id));
  const beyond = found
    .filter(({ id }) => !kept.has(id))
    .map(({ accountId, traceId, kind: { agentId } }) => {
      const kind = { agentId, spanName: null, error: otherError };
      return { accountId, traceId, kind, id: idOf(accountId, kind) };
    });
  if (beyond.length > 0) await keep(beyond);
  const settled = [...found.filter(({ id }) => kept.has(id)), ...beyond];
  await query("end-failures", endSql, [
    settled.map(({ accountId }) => accountId),
    settled.map(({ traceId }) => traceId),
    settled.map(({ id }) => id),
  ]);
}

/** The same kind of failure has the same id in every process: a UUID of version 8 (RFC 9562, 5.8) from a hash. */
function idOf(accountId: string, { agentId, spanName, error }: FailureKind): string {
  const hash = createHash("sha256")
    .update(JSON.stringify([accountId, agentId, spanName, error]))
    .digest();
  hash.writeUInt8(((hash[6] ?? 0) & 0x0f) | 0x80, 6);
  hash.writeUInt8(((hash[8] ?? 0) & 0x3f) | 0x80, 8);
  return formatUuid(hash);
}

/**
 * Clears the groups of the traces that have failed, since a span came or changed; the next reader works them out anew. Call it
 * after the span's commit. Probes of `trace_pkey` and `trace_failure_pkey`.
 */
const clearSql = `
  INSERT INTO trace_failure (account_id, trace_id, written_at)
  SELECT t.account_id, t.id, t.written_at FROM unnest($1::uuid[], $2::uuid[]) AS q (account_id, id)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.id
  WHERE t.status IN ('error', 'timeout') GROUP BY t.account_id, t.id ORDER BY t.account_id, t.id
  ON CONFLICT (account_id, trace_id) DO UPDATE SET failure_id = NULL`;

export async function clearFailures(pool: pg.Pool, traces: readonly FailedTrace[]): Promise<void> {
  const values = [traces.map(({ accountId }) => accountId), traces.map(({ traceId }) => traceId)];
  await pool.query({ name: "clear-failures", text: clearSql, values });
}

/** Forgets what went wrong in a trace if it has failed; the next reader works it out anew. */
export type ClearFailure = (trace: FailedTrace) => Promise<void>;

/** Called after the commit of a failing span, so that a late one counts. Its own failure is logged: the span is stored. */
export function createFailureClearer({ pool, createGroupCommit, log }: LoggedBatching): ClearFailure {
  const clear = createGroupCommit<FailedTrace, void>({
    name: "clear-failure",
    run: async (traces) => {
      await clearFailures(pool, traces);
      return traces.map(() => undefined);
    },
    // It waits for a reader that works the group out, on behalf of its own account alone.
    kindOf: ({ accountId }) => accountId,
    maxInFlight: 2,
  });
  return (trace) =>
    clear(trace).catch((err: unknown) => log.warn({ err, ...trace }, "a late span does not count in /failures"));
}
