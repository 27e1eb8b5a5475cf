import { describe, expect, it } from "@jest/globals";
import type { Message } from "../../sending/compose-message.js";
import { compose, digest, longDigest, sendBy } from "../../sending/message.fixture.js";
import { teams } from "./teams.js";

async function post(message: Message) {
  const { body } = await sendBy(teams, message);
  const { type, attachments } = JSON.parse(body);
  const [{ contentType, content }] = attachments;
  const runs = content.body.map(({ inlines }: { inlines: { text: string }[] }) => inlines[0]);
  const texts: string[] = runs.map(({ text }: { text: string }) => text);
  return { body, type, contentType, content, runs, texts };
}

describe("a message in Teams", () => {
  it("is an adaptive card with a button, as a workflow's webhook takes it", async () => {
    const { type, contentType, content } = await post(compose());
    expect({ type, contentType }).toEqual({ type: "message", contentType: "application/vnd.microsoft.card.adaptive" });
    expect(content).toMatchObject({ type: "AdaptiveCard", version: "1.4" });
    const url = "https://waymark.example/dashboard/traces/0190";
    expect(content.actions).toEqual([{ type: "Action.OpenUrl", title: "Open the trace", url }]);
  });

  it("shows clients' texts as they are, in runs of text, which have no Markdown", async () => {
    const { content, texts } = await post(compose());
    expect(texts).toContain("Trace: answer <!channel> `@everyone`");
    expect(new Set(content.body.map(({ type }: { type: string }) => type))).toEqual(new Set(["RichTextBlock"]));
    expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(500);
  });

  it("of a digest has the line of the number, and the groups with their traces, most frequent first", async () => {
    const { texts, runs } = await post(digest());
    expect(texts).toContain("Failed traces: 12");
    const groups = runs.filter(({ selectAction }: { selectAction?: object }) => selectAction !== undefined);
    expect(groups.map(({ text }: { text: string }) => text.slice(0, 17))).toEqual([
      "• 7 traces, secon",
      "• 4 traces, first",
    ]);
    expect(groups[0].selectAction.url).toBe("https://waymark.example/dashboard/traces/0191");
  });

  it("leaves out groups beyond the bytes that Teams takes, and says so", async () => {
    expect((await post(longDigest())).texts).not.toContain("…");
    const groups = Array.from({ length: 20 }, (_, n) => ({
      id: "f",
      agentId: "a",
      spanName: "call",
      traceId: "0191",
      count: n + 1,
      error: "\u{1f680}".repeat(200),
    }));
    const { body, texts } = await post(digest({ failures: 210, content: JSON.stringify({ groups, others: 0 }) }));
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20_000);
    expect(texts.filter((text) => text.startsWith("• ")).length).toBeGreaterThan(10);
    expect(texts.at(-1)).toBe("…");
  });
});
