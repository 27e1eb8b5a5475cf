import { createHmac } from "node:crypto";

interface ToSign {
  /** `whsec_` and the key in base64. */
  secret: string;
  id: string;
  /** Seconds. */
  timestamp: number;
  body: string;
}

/** The headers of Standard Webhooks: an id that repeats name, the attempt's time, and a signature of both and the body. */
export function signWebhook({ secret, id, timestamp, body }: ToSign): Record<string, string> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(timestamp), "webhook-signature": `v1,${signature}` };
}
