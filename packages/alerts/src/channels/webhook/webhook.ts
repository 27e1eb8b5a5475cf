import { postKind } from "../post-kind.js";
import { signWebhook } from "./sign-webhook.js";
import { webhookBody } from "./webhook-body.js";

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
