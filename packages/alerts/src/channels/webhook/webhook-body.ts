import { traceUrl } from "../../sending/compose-message.js";
import { contentOf, type OwedDelivery } from "../deliveries.query.js";

/** The members of a webhook's `data`. */
interface EventData {
  trace_id: string | null;
  agent_id: string | null;
  name: string | null;
  status: string | null;
  started_at: string | null;
  ended_at: string | null;
  failed_span: string | null;
  error: string | null;
  url: string;
}

/** A webhook's body. Attempts at one delivery have the same type, timestamp and trace. */
export function webhookBody(delivery: OwedDelivery, dashboardUrl: string): string {
  const { type, createdAt } = delivery;
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data: eventData(delivery, dashboardUrl) });
}

function eventData(delivery: OwedDelivery, dashboardUrl: string): EventData {
  const { type, trace, status } = delivery;
  const nothing = {
    ...{ trace_id: null, agent_id: null, name: null, status: null, started_at: null, ended_at: null },
    ...{ failed_span: null, error: null, url: `${dashboardUrl}/dashboard` },
  };
  if (type === "test") return { ...nothing, name: "A test of this channel" };
  if (!trace) return { ...nothing, ...contentOf(delivery) };
  const span = type === "trace.failed" ? trace.failedSpan : null;
  return {
    trace_id: trace.id,
    agent_id: trace.agentId,
    name: trace.name,
    status,
    started_at: trace.startedAt?.toISOString() ?? null,
    ended_at: trace.endedAt?.toISOString() ?? null,
    failed_span: span?.name ?? null,
    error: span?.error ?? null,
    url: traceUrl(dashboardUrl, trace.id),
  };
}
