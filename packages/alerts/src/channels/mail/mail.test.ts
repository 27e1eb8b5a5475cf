import { describe, expect, it } from "@jest/globals";
import type { Message } from "../../sending/compose-message.js";
import { compose, digest, sendBy } from "../../sending/message.fixture.js";
import { mail } from "./mail.js";

const mailOf = async (message: Message) => {
  const sent = await sendBy(mail, message);
  if (!sent.mail) throw new Error("no mail");
  return sent.mail;
};

describe("a mail", () => {
  it("of a failure names it in text and HTML, with the delivery's id as key", async () => {
    const { text, html, idempotencyKey } = await mailOf(compose());
    for (const body of [text, html]) expect(body).toContain("/dashboard/traces/0190");
    expect(idempotencyKey).toBe("event_channel");
  });

  it("escapes clients' texts in HTML", async () => {
    expect((await mailOf(compose())).html).not.toContain("<b>");
  });

  it("of a digest has the agent as subject, the line of the number, and the groups, most frequent first", async () => {
    const { subject, text } = await mailOf(digest());
    expect(subject).toBe("support_bot");
    expect(text).toMatch(/^Failed traces: 12$/m);
    expect(text.indexOf("7 traces, second")).toBeGreaterThan(0);
    expect(text.indexOf("7 traces, second")).toBeLessThan(text.indexOf("4 traces, first"));
    expect(text).toContain("Otherwise: 1 trace");
  });
});
