import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { startResendStub } from "@waymark/testing";
import { createResendMailer } from "./resend-mailer.js";

const mail = { to: "a@example.com", subject: "s", text: "t", html: "<p>h</p>", idempotencyKey: "alert-1" };
let stub: Awaited<ReturnType<typeof startResendStub>>;
beforeEach(async () => {
  stub = await startResendStub();
});
afterEach(() => stub.close());

const mailer = (options: { timeoutMs?: number; now?: () => number } = {}) =>
  createResendMailer({ apiKey: "re_test", baseUrl: stub.baseUrl, from: "Waymark <alerts@example.com>", ...options });
const problem = (status: number, name: string, headers = {}) => ({
  status,
  body: { statusCode: status, name, message: "why" },
  headers,
});

describe("the Resend mailer", () => {
  it("sends text and HTML with the key and the idempotency key", async () => {
    expect(await mailer().send(mail)).toEqual({ outcome: "sent" });
    const [sent] = stub.mails;
    expect(sent?.headers).toMatchObject({ authorization: "Bearer re_test", "idempotency-key": "alert-1" });
    expect(sent?.body).toEqual({
      from: "Waymark <alerts@example.com>",
      to: "a@example.com",
      subject: "s",
      text: "t",
      html: "<p>h</p>",
    });
  });

  it.each([400, 404, 422])("counts %i as refused for good", async (status) => {
    stub.answers.push(problem(status, "validation_error"));
    expect(await mailer().send(mail)).toEqual({
      outcome: "refused",
      reason: `Resend answered ${status}: validation_error: why`,
    });
  });

  it.each([401, 403, 500, 502, 503])("counts %i as worth another attempt", async (status) => {
    stub.answers.push(problem(status, "application_error"));
    expect(await mailer().send(mail)).toMatchObject({ outcome: "deferred", retryAfterMs: undefined });
  });

  it("takes the wait that a 503 asks for", async () => {
    stub.answers.push(problem(503, "application_error", { "retry-after": "7" }));
    expect(await mailer().send(mail)).toMatchObject({ outcome: "deferred", retryAfterMs: 7_000 });
  });

  it("after a 429 sends nothing until the time that Retry-After gives is over", async () => {
    let now = 1_000_000;
    const limited = mailer({ now: () => now });
    stub.answers.push(problem(429, "rate_limit_exceeded", { "retry-after": "3" }));
    expect(await limited.send(mail)).toMatchObject({ outcome: "rate-limited", retryAfterMs: 3_000 });
    now += 2_000;
    expect(await limited.send(mail)).toMatchObject({ outcome: "rate-limited", retryAfterMs: 1_000 });
    expect(stub.mails).toHaveLength(1);
    now += 1_000;
    expect(await limited.send(mail)).toEqual({ outcome: "sent" });
    expect(stub.mails).toHaveLength(2);
  });

  it("understands a 429 without a known body, and Retry-After as a date", async () => {
    const now = Date.parse("2026-01-02T03:04:05Z");
    stub.answers.push({ status: 429, body: "busy", headers: { "retry-after": "Fri, 02 Jan 2026 03:04:15 GMT" } });
    expect(await mailer({ now: () => now }).send(mail)).toMatchObject({
      outcome: "rate-limited",
      retryAfterMs: 10_000,
    });
    stub.answers.push({ status: 429, body: {}, headers: { "retry-after": "2" } });
    expect(await mailer().send(mail)).toMatchObject({ outcome: "rate-limited", retryAfterMs: 2_000 });
    stub.answers.push(problem(429, "rate_limit_exceeded"));
    expect(await mailer().send(mail)).toMatchObject({ outcome: "rate-limited", retryAfterMs: 1_000 });
  });

  it("counts a used-up quota as an attempt, since it may last", async () => {
    stub.answers.push(problem(429, "daily_quota_exceeded"));
    expect(await mailer().send(mail)).toMatchObject({ outcome: "deferred" });
  });

  it("counts a mail that went out with another text before as sent", async () => {
    stub.answers.push(problem(409, "invalid_idempotent_request"));
    expect(await mailer().send(mail)).toEqual({ outcome: "sent" });
    stub.answers.push(problem(409, "concurrent_idempotent_requests"));
    expect(await mailer().send(mail)).toMatchObject({ outcome: "deferred" });
  });

  it("gives up waiting for an answer, and says so", async () => {
    stub.answers.push({ status: 200, delayMs: 1_000 });
    expect(await mailer({ timeoutMs: 50 }).send(mail)).toEqual({
      outcome: "deferred",
      reason: "Resend did not answer in time",
      retryAfterMs: undefined,
    });
  });

  it("says that nothing could be reached", async () => {
    await stub.close();
    const answer = await mailer().send(mail);
    stub = await startResendStub();
    expect(answer).toMatchObject({
      outcome: "deferred",
      reason: expect.stringMatching(/^Resend could not be reached/),
    });
  });
});
