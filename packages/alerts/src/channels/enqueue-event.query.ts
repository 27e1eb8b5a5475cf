import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { noFailures } from "../reports/report.js";
import { openRouting } from "./alert-settings.query.js";

const uuid = createUuidV7();

export interface AgentEvent {
  accountId: string;
  type: "trace.recovered" | "alert.rule";
  /** The members of a webhook's `data` that are known; a recovery's others come from its trace. Messages show all of these. */
  data: {
    /** Null of a rule about the whole account, for channels of all agents. */
    agent_id: string | null;
    trace_id?: string;
    name?: string;
    status?: string;
    error?: string;
    started_at?: string;
    ended_at?: string;
  };
}

// A range of `channel_pkey`.
const insertEventSql = `
  INSERT INTO delivery (account_id, event_id, channel_id, type, trace_id, status, content)
  SELECT account_id, $2, id, $3, $4, $5, $6 FROM channel
  WHERE account_id = $1 AND disabled_at IS NULL AND is_confirmed AND (agents = '{}' OR $7 = ANY (agents)) AND (recovered OR $3 <> 'trace.recovered')
    AND statuses <> '{${noFailures}}'`;

/** In the caller's transaction, so an event is noted once. A recovery goes to channels that ask for it. */
export async function enqueueEvent(transaction: pg.ClientBase, { accountId, type, data }: AgentEvent): Promise<void> {
  await openRouting(transaction, accountId);
  const { trace_id = null, status = null, agent_id } = data;
  const values = [accountId, uuid(), type, trace_id, status, JSON.stringify(data), agent_id];
  await transaction.query(insertEventSql, values);
}
