import { describe, expect, it } from "@jest/globals";
import type { OwedDelivery } from "@waymark/alerts";
import { composeMessage, type Message } from "./compose-message.js";
import { asDiscord, asMail, asSlack } from "./message-formats.js";

const url = "https://waymark.example";
const delivery: OwedDelivery = {
  ...{ type: "trace.failed", createdAt: new Date(0), ageMs: 0, attempts: 0, channel: null, agentId: "", failures: 1 },
  ...{ status: "error", content: null },
  trace: {
    ...{ id: "0190", agentId: "support_bot", name: "answer <!channel> `@everyone`", durationMs: 1_250 },
    ...{ startedAt: new Date(0), endedAt: new Date(1_250) },
    failedSpan: { name: "call", error: `<b>&\n\`\`\`x ${"e".repeat(5_000)}` },
  },
};
const group = (agentId: string, count: number, spanName: string | null = "call") => {
  return { id: "f", agentId, spanName, error: "HTTP N <x>", count, traceId: "0191" };
};

function compose(changes: Partial<OwedDelivery>): Message {
  const message = composeMessage({ ...delivery, ...changes }, url);
  if (!message) throw new Error("no message");
  return message;
}

const digest = (changes: Partial<OwedDelivery> = {}) =>
  compose({
    ...{ type: "digest", trace: null, agentId: "support_bot", failures: 12 },
    content: JSON.stringify({
      groups: [group("support_bot", 4, "first"), group("support_bot", 7, "second")],
      others: 1,
    }),
    ...changes,
  });

const slackText = (message: Message): string => JSON.parse(asSlack(message)).text;
const discordText = (message: Message): string => JSON.parse(asDiscord(message)).content;

describe("a failed trace", () => {
  it("names agent, trace, status, span, error and link in each format", () => {
    const { text, html } = asMail(compose({}));
    for (const body of [text, html, slackText(compose({})), discordText(compose({}))]) {
      for (const part of ["support_bot", "0190", "error", "call", `${url}/dashboard/traces/0190`]) {
        expect(body).toContain(part);
      }
    }
  });

  it("tells nobody in Slack and Discord, and formats nothing", () => {
    const slack = slackText(compose({}));
    expect(slack).toContain("`answer &lt;!channel&gt; ˋ@everyoneˋ`");
    expect(slack).not.toContain("<!channel>");
    expect(slack).not.toContain("<b>");
    const discord = discordText(compose({}));
    expect(discord).toContain("`answer <!channel> ˋ@everyoneˋ`");
    expect(discord.match(/```/g)).toHaveLength(2);
    expect(JSON.parse(asDiscord(compose({}))).allowed_mentions).toEqual({ parse: [] });
    expect(discord.length).toBeLessThanOrEqual(2_000);
    expect(slack.length).toBeLessThanOrEqual(3_000);
  });

  it("escapes a mail's HTML", () => {
    expect(asMail(compose({})).html).not.toContain("<b>");
  });
});

describe("a digest", () => {
  it("has the agent as subject, the line of the number, and the groups, most frequent first", () => {
    const mail = asMail(digest());
    expect(mail.subject).toBe("support_bot");
    for (const text of [mail.text, slackText(digest()), discordText(digest())]) {
      expect(text).toMatch(/^Failed traces: 12$/m);
      expect(text.indexOf("7 traces, second")).toBeGreaterThan(0);
      expect(text.indexOf("7 traces, second")).toBeLessThan(text.indexOf("4 traces, first"));
    }
    expect(mail.text).toContain("Otherwise: 1 trace");
  });

  it("of all agents names them, and counts groups that it does not name", () => {
    const groups = Array.from({ length: 30 }, (_, n) => group(`agent-${n}`, 30 - n, "s".repeat(100)));
    const message = digest({ agentId: "", failures: 500, content: JSON.stringify({ groups, others: 35 }) });
    expect(message.subject).toBe("500 more failed traces");
    expect(message.groups).toHaveLength(20);
    expect(message.facts).toContainEqual(["Otherwise", `${35 + 55} traces`]);
    expect(discordText(message).length).toBeLessThanOrEqual(2_000);
    expect(discordText(message)).toMatch(/\n…$/);
  });
});

describe("other events", () => {
  it("say what they are", () => {
    expect(compose({ type: "test", trace: null }).heading).toContain("test");
    const recovered = compose({ type: "trace.recovered", status: "success" });
    expect(recovered.subject).toContain("succeeded again");
    expect(recovered.error).toBeUndefined();
    const content = { agent_id: "a", name: "above 20 %", status: "above", error: "25 % of 40 traces failed" };
    expect(compose({ type: "alert.rule", trace: null, content: JSON.stringify(content) }).facts).toEqual([
      ...[["Agent", "a"] as const, ["Rule", "above 20 %"] as const, ["Status", "above"] as const],
      ["Now", "25 % of 40 traces failed"],
    ]);
  });

  it("have no message where the trace is gone", () => {
    expect(composeMessage({ ...delivery, trace: null }, url)).toBeUndefined();
  });
});
