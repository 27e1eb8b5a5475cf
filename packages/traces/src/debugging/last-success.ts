import { type ListedTrace, newestCursor, type TracesToFind } from "../list-traces.query.js";
import type { TracePageReader } from "../search-traces.query.js";

/** Traces to look at for one of the same name. */
const maxLooked = 20;

/**
 * The success to set beside a trace: the newest of the same agent before it, else after it, rather of the same name. Undefined
 * where the agent has none.
 */
export async function findLastSuccess(
  readTracePage: TracePageReader,
  accountId: string,
  { id, agent_id: agentId, name, started_at: startedAt }: ListedTrace,
): Promise<ListedTrace | undefined> {
  const asked: Omit<TracesToFind, "after"> = { accountId, agentId, statuses: ["success"], limit: maxLooked };
  for (const after of [{ startedAt, id }, newestCursor]) {
    const traces = (await readTracePage({ ...asked, after })).traces.filter((trace) => trace.id !== id);
    const found = traces.find((trace) => trace.name === name) ?? traces[0];
    if (found) return found;
  }
  return undefined;
}
