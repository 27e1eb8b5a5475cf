import { withTransaction } from "@waymark/database";
import { statusTimeSql } from "@waymark/traces";
import type pg from "pg";
import { eachAccount } from "../turns.js";
import { enqueueEvent } from "./enqueue-event.query.js";
import type { RoutedAlert } from "./routing.js";

// Only where a channel asks: successes of other agents cost nothing. A range of `channel_pkey`, probes of
// `alert_pkey` and `failing_agent_pkey`.
const noteFailingSql = `
  INSERT INTO failing_agent (account_id, agent_id, since)
  SELECT $1, f.agent_id, max(a.created_at)
  FROM unnest($2::text[], $3::uuid[]) AS f (agent_id, alert_id) JOIN alert a ON a.account_id = $1 AND a.id = f.alert_id
  WHERE EXISTS (SELECT FROM channel WHERE account_id = $1 AND recovered AND disabled_at IS NULL)
  GROUP BY f.agent_id
  ON CONFLICT (account_id, agent_id) DO UPDATE SET since = GREATEST(failing_agent.since, EXCLUDED.since)`;

export async function noteFailing(
  client: pg.ClientBase,
  accountId: string,
  alerts: readonly Pick<RoutedAlert, "id" | "agentId">[],
) {
  if (alerts.length === 0) return;
  const values = [accountId, alerts.map(({ agentId }) => agentId), alerts.map(({ id }) => id)];
  await client.query(noteFailingSql, values);
}

// The first trace of each failing agent that was set to success after the newest failure; received a day before it at the
// earliest. For each agent a range of `trace_pkey`.
const findRecoveredSql = `
  SELECT f.account_id AS "accountId", f.agent_id AS "agentId", f.since::text AS since, t.id AS "traceId"
  FROM failing_agent f CROSS JOIN LATERAL (
    SELECT id FROM trace
    WHERE account_id = f.account_id AND id >= uuid_floor(f.since - interval '1 day') AND agent_id = f.agent_id
      AND status = 'success' AND ${statusTimeSql} > f.since
    ORDER BY id LIMIT 1
  ) AS t`;

const removeSql = "DELETE FROM failing_agent WHERE account_id = $1 AND agent_id = $2 AND since = $3::timestamptz";

/** Nobody waits longer for a success. */
const forgetSql = "DELETE FROM failing_agent WHERE since < now() - interval '30 days'";

interface Recovered {
  accountId: string;
  agentId: string;
  /** Text keeps its microseconds. */
  since: string;
  traceId: string;
}

/** Tells each failing agent's next success once, to the channels that ask. Returns their number. */
export async function tellRecoveries(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<Recovered>(findRecoveredSql);
  await pool.query(forgetSql);
  return eachAccount(rows, ({ accountId, agentId, since, traceId }) =>
    withTransaction(pool, async (client) => {
      const { rowCount } = await client.query(removeSql, [accountId, agentId, since]);
      if (rowCount !== 1) return 0;
      const data = { agent_id: agentId, trace_id: traceId, status: "success" };
      await enqueueEvent(client, { accountId, type: "trace.recovered", data });
      return 1;
    }),
  );
}
