import { describe, expect, it } from "@jest/globals";
import { asMail } from "../channels/mail/mail.js";
import { composeTrace } from "./compose-message.js";

interface Alert {
  status: string;
  failures: number;
  trace: Parameters<typeof composeTrace>[1];
}

const trace = {
  id: "0190a7e0-0000-7000-8000-000000000000",
  agentId: "support-bot",
  name: "answer ticket 7",
  startedAt: new Date("2026-01-02T03:04:05.678Z"),
  endedAt: null,
  durationMs: 83_000,
  failedSpan: { name: "call the model", error: "connection refused" },
};
const composeAlert = ({ alert, dashboardUrl }: { alert: Alert; dashboardUrl: string }) =>
  asMail(composeTrace({ type: "trace.failed", ...alert }, alert.trace, dashboardUrl));
const compose = (change: Partial<typeof trace> | { failedSpan: null } | { durationMs: null } = {}) =>
  composeAlert({
    alert: { status: "error", failures: 1, trace: { ...trace, ...change } },
    dashboardUrl: "https://waymark.example",
  });

describe("an alert's mail", () => {
  it("says agent, trace, status, duration, the failing span with its error, and where to look", () => {
    const { subject, text, html } = compose();
    expect(subject).toBe("support-bot: “answer ticket 7” ended in error");
    for (const body of [text, html]) {
      for (const fact of ["support-bot", "answer ticket 7", "error", "1 min 23 s", "call the model"]) {
        expect(body).toContain(fact);
      }
      expect(body).toContain("connection refused");
      expect(body).toContain(`https://waymark.example/dashboard/traces/${trace.id}`);
    }
  });

  it("says when the trace began, its id, and how to read it where there is no dashboard", () => {
    const { text, html } = compose();
    for (const body of [text, html]) {
      expect(body).toContain("2026-01-02 03:04:05 UTC");
      expect(body).toContain(`waymark trace show ${trace.id}`);
    }
    expect(text).toMatch(new RegExp(`^Trace id: +${trace.id}$`, "m"));
  });

  it("says how often the trace failed where it stands for several failures", () => {
    const { text } = composeAlert({ alert: { status: "error", failures: 21, trace }, dashboardUrl: "" });
    expect(text).toMatch(/Failures: +21 failures/);
    expect(compose().text).not.toContain("Failures");
  });

  it("says timed out for a timeout", () => {
    const { subject, text } = composeAlert({ alert: { status: "timeout", failures: 1, trace }, dashboardUrl: "" });
    expect(subject).toMatch(/timed out$/);
    expect(text).toMatch(/Status: +timeout/);
  });

  it("leaves out what is not known", () => {
    expect(compose({ failedSpan: null }).text).not.toContain("Failed span");
    expect(compose({ durationMs: null }).text).toMatch(/Duration: +not given/);
    const { text, html } = compose({ failedSpan: { name: "s", error: "" } });
    expect(text).toContain("Failed span");
    expect(html).not.toContain("<pre");
  });

  it("shows markup as text", () => {
    const { html } = compose({ name: `<img src=x onerror="alert('1')">&amp;`, agentId: "<b>" });
    expect(html).not.toMatch(/<img|<b>/);
    expect(html).toContain("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;");
  });

  it("keeps line breaks and control characters out of the subject and of single lines", () => {
    const { subject, text } = compose({ name: "a\r\nBcc: someone@example.com\u0000\u202e" });
    expect(subject).not.toMatch(/[\r\n\0]/);
    expect(subject).toContain("a Bcc: someone@example.com");
    expect(text).not.toMatch(/^Bcc/m);
    expect(text).not.toContain("\u202e");
  });

  it("cuts long texts between characters, and marks the cut", () => {
    const { subject, text } = compose({
      name: "\u{1f680}".repeat(1_000),
      failedSpan: { name: "s", error: "x".repeat(4_000) },
    });
    expect([...subject].length).toBeLessThanOrEqual(120);
    expect(subject.isWellFormed()).toBe(true);
    expect(subject).toMatch(/…$/);
    expect(text.length).toBeLessThan(4_000);
    expect(text.isWellFormed()).toBe(true);
  });

  it("keeps the lines of an error, each indented", () => {
    const { text } = compose({ failedSpan: { name: "s", error: "Error: no\r\n  at line 1" } });
    expect(text).toContain("\n    Error: no\n      at line 1\n");
  });
});
