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
  headers: ({ id, secret }, body) => (secret === null ? {} : signWebhook(id, secret, body)),
});

/** A webhook's body. Attempts at one delivery have the same type, timestamp and trace. */
function webhookBody(delivery: OwedDelivery, dashboardUrl: string): string {
  const { type, createdAt } = delivery;
  const data = { ...nothing, url: `${dashboardUrl}/dashboard`, ...eventData(delivery, dashboardUrl) };
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
}

const nothing = {
  trace_id: null,
  agent_id: null,
  name: null,
  status: null,
  started_at: null,
  ended_at: null,
  failed_span: null,
  error: null,
};

function eventData(delivery: OwedDelivery, dashboardUrl: string) {
  const { type, trace, status } = delivery;
  if (type === "test") return { name: "A test of this channel" };
  if (!trace) return contentOf(delivery);
  const span = type === "trace.failed" ? trace.failedSpan : null;
  return {
    trace_id: trace.id,
    agent_id: trace.agentId,
    name: trace.name,
    status,
    started_at: trace.startedAt,
    ended_at: trace.endedAt,
    failed_span: span?.name ?? null,
    error: span?.error ?? null,
    url: traceUrl(dashboardUrl, trace.id),
  };
}

/** The headers of Standard Webhooks: an id that repeats name, the attempt's time, and a signature of both and the body. */
function signWebhook(id: string, secret: string, body: string): Record<string, string> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${signature}` };
}
