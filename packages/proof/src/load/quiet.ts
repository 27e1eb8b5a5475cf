import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "./client.js";
import type { Tenant } from "./tenant.js";

/** Between two requests of the quiet account. */
const pauseMs = 25;

/**
 * A small account beside the load: writes a trace, reads it, and so on until the signal.
 * @returns the durations of its acknowledged requests
 */
export async function runQuiet(tenant: Tenant, client: Client, url: string, signal: AbortSignal): Promise<number[]> {
  const durations: number[] = [];
  while (!signal.aborted) {
    const { name, entry } = tenant.ledger.openTrace();
    const headers = { Authorization: `Bearer ${tenant.traceKey}` };
    const body = { agent_id: "quiet", name, status: "running", started_at: new Date().toISOString() };
    const keyed = { ...headers, "Idempotency-Key": randomUUID() };
    const made = await client.untilAcknowledged(
      `${url}/api/v1/traces`,
      { method: "POST", headers: keyed, body },
      signal,
    );
    if (!made) continue;
    entry.isAcknowledged = true;
    entry.status = "running";
    durations.push(made.ms);
    const read = await client.once(`${url}/api/v1/traces/${made.body["trace_id"]}`, { headers });
    if (read) durations.push(read.ms);
    await wait(pauseMs, undefined, { signal }).catch(() => undefined);
  }
  return durations;
}
