import type { Batched } from "@waymark/database";
import { type Batching, type Columns, columnArrays, unnestSql } from "@waymark/traces";
import type pg from "pg";

interface VisitOfTrace {
  accountId: string;
  traceId: string;
  /** As `hashOfVisit` has it. */
  visit: string;
}

export type StoreVisit = Batched<VisitOfTrace, void>;

const columns: Columns<VisitOfTrace> = {
  account_id: { type: "uuid", of: ({ accountId }) => accountId },
  trace_id: { type: "uuid", of: ({ traceId }) => traceId },
  visit: { type: "bytea", of: ({ visit }) => `\\x${visit}` },
};

/**
 * Keeps the first visit of each trace of accounts with a site that wants it. A probe of `trace_visit_pkey` for each trace and a
 * range of `site_account_id_idx` for each account. By rising keys, so statements do not deadlock.
 */
const storeSql = `
  INSERT INTO trace_visit (account_id, trace_id, visit)
  SELECT DISTINCT ON (account_id, trace_id) account_id, trace_id, visit FROM ${unnestSql(1, columns)}
  WHERE account_id IN (SELECT account_id FROM site WHERE account_id = ANY ($1::uuid[]) AND costs_until IS NOT NULL)
  ORDER BY account_id, trace_id
  ON CONFLICT DO NOTHING`;

/** Makes what keeps the visit of a trace. A token of another day, site or account is kept as well, and matches nothing. */
export function createVisitStore({ pool, createGroupCommit }: Batching): StoreVisit {
  return createGroupCommit<VisitOfTrace, void>({
    name: "store-visits",
    run: (rows) => storeVisits(pool, rows),
  });
}

async function storeVisits(pool: pg.Pool, rows: readonly VisitOfTrace[]): Promise<undefined[]> {
  await pool.query({ name: "store-visits", text: storeSql, values: columnArrays(rows, columns) });
  return rows.map(() => undefined);
}
