import { describe, expect, it } from "@jest/globals";
import { isRetryableStatus, resolveRetryLimits, retryAfterMs, retryDelayMs } from "./retry.js";

const limits = resolveRetryLimits({ retries: 4, baseMs: 100, maxMs: 300 });

describe("the wait before another attempt", () => {
  it("doubles up to its bound, and leaves out up to half", () => {
    const waits = [1, 2, 3, 4].map((attempt) => retryDelayMs(limits, attempt, null, () => 1));
    expect(waits).toEqual([100, 200, 300, 300]);
    expect(retryDelayMs(limits, 1, null, () => 0)).toBe(50);
    expect(retryDelayMs(limits, 5, null)).toBeNull();
  });

  it("is as long as the service asks, unless that is too long", () => {
    expect(retryDelayMs(limits, 1, 2_000)).toBe(2_000);
    expect(retryDelayMs(limits, 1, 30_000)).toBe(30_000);
    expect(retryDelayMs(limits, 1, 30_001)).toBeNull();
  });
});

it("Retry-After is read as seconds and as a date", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  expect(retryAfterMs("3", now)).toBe(3_000);
  expect(retryAfterMs("Sat, 21 Nov 2026 12:00:05 GMT", now)).toBe(5_000);
  expect(retryAfterMs("Sat, 21 Nov 2026 11:00:00 GMT", now)).toBe(0);
  expect(retryAfterMs("soon", now)).toBeNull();
  expect(retryAfterMs(null, now)).toBeNull();
});

it("refusals that stay refusals are not worth another attempt", () => {
  expect([200, 400, 401, 403, 404, 405, 413, 415, 422].some(isRetryableStatus)).toBe(false);
  expect([408, 409, 429, 500, 502, 503, 504].every(isRetryableStatus)).toBe(true);
});
