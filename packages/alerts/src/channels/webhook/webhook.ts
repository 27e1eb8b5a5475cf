import { createHmac } from "node:crypto";
import { traceUrl } from "../../sending/compose-message.js";
import { contentOf, type OwedDelivery } from "../deliveries.query.js";
import { postKind } from "../post-kind.js";

export const webhook = postKind({
  label: "Webhook",
  hint: "Signed by Standard Webhooks; it gets each failure.",
  isPublic: true,
  isSigned: true,
  getsEach: true,
  body: ({ owed, dashboardUrl }) => webhookBody(owed, dashboardUrl),
  headers: ({ id, secret }, body) =>
    secret === null ? {} : signWebhook({ id, secret, timestamp: Math.floor(Date.now() / 1_000), body }),
});

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
function webhookBody(delivery: OwedDelivery, dashboardUrl: string): string {
  const { type, createdAt } = delivery;
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data: eventData(delivery, dashboardUrl) });
}

function eventData(delivery: OwedDelivery, dashboardUrl: string): EventData {
  const { type, trace, status } = delivery;
  const nothing = {
    trace_id: null,
    agent_id: null,
    name: null,
    status: null,
    started_at: null,
    ended_at: null,
    failed_span: null,
    error: null,
    url: `${dashboardUrl}/dashboard`,
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

interface ToSign {
  /** `whsec_` and the key in base64. */
  secret: string;
  id: string;
  /** Seconds. */
  timestamp: number;
  body: string;
}

/** The headers of Standard Webhooks: an id that repeats name, the attempt's time, and a signature of both and the body. */
function signWebhook({ secret, id, timestamp, body }: ToSign): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${signature}` };
}
