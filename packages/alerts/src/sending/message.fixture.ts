import type { OwedDelivery } from "../channels/deliveries.query.js";
import type { Kind } from "../channels/kind.js";
import type { Mail } from "../mail/index.js";
import { composeMessage, type Message } from "./compose-message.js";

export const url = "https://waymark.example";

export const delivery: OwedDelivery = {
  sort: "event",
  type: "trace.failed",
  createdAt: new Date(0),
  ageMs: 0,
  attempts: 0,
  channel: null,
  agentId: "",
  failures: 1,
  status: "error",
  content: null,
  trace: {
    id: "0190",
    agentId: "support_bot",
    name: "answer <!channel> `@everyone`",
    durationMs: 1_250,
    startedAt: new Date(0),
    endedAt: new Date(1_250),
    failedSpan: { name: "call", error: `<b>&\n\`\`\`x ${"e".repeat(5_000)}` },
  },
};

export function compose(changes: Partial<OwedDelivery> = {}): Message {
  const message = composeMessage({ ...delivery, ...changes }, url);
  if (!message) throw new Error("no message");
  return message;
}

const group = (agentId: string, count: number, spanName: string | null = "call") => {
  return { id: "f", agentId, spanName, error: "HTTP N <x>", count, traceId: "0191" };
};

export const digest = (changes: Partial<OwedDelivery> = {}) =>
  compose({
    type: "digest",
    trace: null,
    agentId: "support_bot",
    failures: 12,
    content: JSON.stringify({
      groups: [group("support_bot", 4, "first"), group("support_bot", 7, "second")],
      others: 1,
    }),
    ...changes,
  });

/** A digest of all agents with many long groups. */
export function longDigest(): Message {
  const groups = Array.from({ length: 30 }, (_, n) => group(`agent-${n}`, 30 - n, "s".repeat(100)));
  return digest({ agentId: "", failures: 500, content: JSON.stringify({ groups, others: 35 }) });
}

interface Sent {
  mail?: Mail;
  headers?: Readonly<Record<string, string>>;
  body: string;
}

/** What a kind hands to the mailer, or posts. */
export async function sendBy(kind: Kind, message: Message, secret: string | null = null): Promise<Sent> {
  let left: Sent | undefined;
  const sending = { id: "event_channel", to: kind.placeholder, secret, owed: delivery, message, dashboardUrl: url };
  await kind.send(sending, {
    mailer: {
      async send(mail) {
        left = { mail, body: mail.text };
        return { outcome: "sent" };
      },
    },
    async post({ headers, body }) {
      left = { headers, body };
      return { status: 200, retryAfter: undefined, text: "", isInside: false };
    },
  });
  if (!left) throw new Error("nothing was sent");
  return left;
}
