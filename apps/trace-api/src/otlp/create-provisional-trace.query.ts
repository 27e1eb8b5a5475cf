import type { CreateGroupCommit } from "@waymark/database";
import type pg from "pg";
import { withAgentLock } from "../agents/claim-agent.query.js";
import { findAnyAgent, insertProvisionalAgent } from "../agents/provisional-agent.query.js";
import { oneAtATime } from "../batching/one-at-a-time.js";
import { insertLockedTraces } from "../traces/insert-traces.query.js";
import type { CreateTraceResult, TraceToCreate } from "../traces/trace-row.js";
import { readUsedTraces } from "../usage/read-used-traces.query.js";

/** The trace's outcome, and the agent that it counts for. */
interface ProvisionalTrace {
  result: CreateTraceResult;
  agentId: string;
}

/**
 * Creates traces whose root span has not arrived, for accounts with a limit of agents and no agent that counts. The trace's
 * agent becomes the account's provisional agent unless the account has one.
 */
export function createProvisionalTraces({
  pool,
  createGroupCommit,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
}) {
  return createGroupCommit<TraceToCreate, ProvisionalTrace>({
    name: "create-unsettled-trace",
    run: (rows) => Promise.all(rows.map((row) => createProvisionalTrace(pool, row))),
    ...oneAtATime,
  });
}

function createProvisionalTrace(pool: pg.Pool, input: TraceToCreate): Promise<ProvisionalTrace> {
  const { accountId, trace } = input;
  return withAgentLock(pool, accountId, async (client) => {
    const existing = await findAnyAgent(client, accountId);
    const agentId = existing ?? trace.agent_id;
    const row = { ...input, trace: { ...trace, agent_id: agentId }, isAgentKnown: true };
    const [inserted] = await insertLockedTraces(client, [row]);
    const result = inserted ?? { outcome: "trace_limit", used: await readUsedTraces(client, input) };
    if (result.outcome === "created" && existing === undefined) {
      await insertProvisionalAgent(client, accountId, agentId);
    }
    return { result, agentId };
  });
}
