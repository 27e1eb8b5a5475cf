import { describe, expect, it } from "@jest/globals";
import { judgePost } from "./judge-answer.js";

const first = { attempts: 0, ageMs: 0 };
const answered = (status: number, retryAfter?: string, text = "", isInside = false) => ({
  status,
  retryAfter,
  text,
  isInside,
});
const hourMs = 3_600_000;

describe("judgePost", () => {
  it.each([200, 201, 204, 299])("takes %i as delivered", (status) => {
    expect(judgePost(answered(status), first)).toMatchObject({ state: "sent", isGone: false });
  });

  it.each([400, 401, 404, 413, 422])("gives up after %i, and keeps the channel", (status) => {
    expect(judgePost(answered(status, undefined, "no"), first)).toMatchObject({
      state: "failed",
      isGone: false,
      reason: `Answered ${status}: no`,
    });
  });

  it("shows nothing of an answer from a private network", () => {
    expect(judgePost(answered(404, undefined, "secret", true), first)).toMatchObject({ reason: "Answered 404" });
  });

  it("ends the channel after 410", () => {
    expect(judgePost(answered(410), first)).toMatchObject({ state: "failed", isGone: true });
  });

  it.each([301, 302, 408, 429, 500, 503])("tries again after %i", (status) => {
    expect(judgePost(answered(status), first)).toMatchObject({ state: "pending", counts: true });
  });

  it("gives up at once at a refused address, and tries again without an answer", () => {
    const none = { status: null, reason: "why" };
    expect(judgePost({ ...none, isRefused: true }, first)).toMatchObject({ state: "failed", reason: "why" });
    expect(judgePost({ ...none, isRefused: false }, first)).toMatchObject({ state: "pending", reason: "why" });
  });

  it("waits 2 s, then twice as long up to an hour, each up to a tenth longer, and a day in all", () => {
    let ageMs = 0;
    const waits: number[] = [];
    for (let attempts = 0; ; attempts++) {
      const { state, retryAfterMs } = judgePost(answered(500), { attempts, ageMs });
      if (state !== "pending") break;
      waits.push(retryAfterMs);
      ageMs += retryAfterMs;
    }
    const pauses = [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000, 2_048_000];
    for (const [index, pause] of [...pauses, hourMs, hourMs].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(pause);
      expect(waits[index]).toBeLessThanOrEqual(pause * 1.1);
    }
    expect(ageMs).toBeLessThanOrEqual(24 * hourMs);
    expect(ageMs).toBeGreaterThan(22.5 * hourMs);
  });

  it.each([
    ["60", 60_000],
    [new Date(90_000).toUTCString(), 90_000],
    ["99999", hourMs],
  ])("honours Retry-After: %s, up to an hour", (header, expected) => {
    expect(judgePost(answered(429, header), first, 0)).toMatchObject({ state: "pending", retryAfterMs: expected });
  });

  it("waits its own time where Retry-After is shorter or wrong", () => {
    for (const header of ["1", "soon", "-5"]) {
      expect(judgePost(answered(503, header), first).retryAfterMs).toBeGreaterThanOrEqual(2_000);
    }
  });

  it("keeps an answer's text short and on its line", () => {
    const { reason } = judgePost(answered(500, undefined, `a\u0000\n${"b".repeat(1_000)}`), first);
    expect(reason).toMatch(/^Answered 500: a�? b+…$/);
    expect(reason?.length).toBeLessThanOrEqual(300);
  });
});
