import { describe, expect, it } from "@jest/globals";
import { planVisits } from "./load-visits.js";
import { type PlannedTrace, planFreeTraces, planProTraces } from "./plan-traces.js";

const end = Date.parse("2026-11-22T12:00:00Z");
const dayMs = 24 * 3_600_000;
const isFailed = ({ status }: PlannedTrace) => status === "error" || status === "timeout";

describe("the demo's traces", () => {
  it("are 200 of six agents over 30 days, 12 % of them failed and one running", async () => {
    const traces = await planProTraces(end);
    expect(traces).toHaveLength(200);
    expect(new Set(traces.map(({ agentId }) => agentId)).size).toBe(6);
    expect(traces.filter(isFailed)).toHaveLength(24);
    expect(traces.filter(({ status }) => status === "running")).toHaveLength(1);
    const starts = traces.map(({ startedAt }) => startedAt);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    const firstDay = Math.floor(end / dayMs) * dayMs - 29 * dayMs;
    expect(Math.min(...starts)).toBeGreaterThanOrEqual(firstDay);
    expect(end - Math.min(...starts)).toBeGreaterThan(28 * dayMs);
    for (const { startedAt, endMs } of traces) expect(startedAt + (endMs ?? 0)).toBeLessThanOrEqual(end);
  });

  it("have one of 2,000 spans, one with a long wait, and a failed span in each failure", async () => {
    const traces = await planProTraces(end);
    expect(traces.filter(({ spans }) => spans.length === 2_000)).toHaveLength(1);
    expect(traces.filter(({ endMs }) => (endMs ?? 0) > 3 * 3_600_000)).toHaveLength(1);
    for (const { spans, status } of traces.filter(isFailed)) {
      if (status === "error") expect(spans.some(({ error }) => Boolean(error))).toBe(true);
    }
    for (const { spans } of traces) {
      spans.forEach(({ parent, startMs, endMs }, place) => {
        if (parent !== null) expect(parent).toBeLessThan(place);
        if (endMs !== null) expect(endMs).toBeGreaterThanOrEqual(startMs);
      });
    }
  });

  it("fail with one error each where an agent of ours ran them, so the first failed span is the cause", async () => {
    const failed = [...(await planProTraces(end)), ...(await planFreeTraces(end))].filter(isFailed);
    const ours = failed.filter(({ agentId }) => agentId === "support-bot");
    expect(ours.length).toBeGreaterThan(5);
    for (const { spans } of ours) expect(new Set(spans.flatMap(({ error }) => error ?? [])).size).toBe(1);
  });

  it("are the same at each start", async () => {
    expect(await planProTraces(end)).toEqual(await planProTraces(end));
    expect(await planFreeTraces(end)).toEqual(await planFreeTraces(end));
  });

  it("keep the Free account within its plan", async () => {
    const traces = await planFreeTraces(end);
    expect(new Set(traces.map(({ agentId }) => agentId)).size).toBe(1);
    expect(end - Math.min(...traces.map(({ startedAt }) => startedAt))).toBeLessThan(30 * dayMs);
  });
});

describe("the demo's visits", () => {
  it("cover 60 days with countries, browsers, campaigns, and two events with properties", async () => {
    const visits = await planVisits("semicomplete.com", end);
    expect(new Set(visits.map(({ ts }) => ts.slice(0, 10))).size).toBe(60);
    expect(visits.at(-1)?.ts.slice(0, 10)).toBe("2026-11-22");
    expect(visits.every(({ ts }) => Date.parse(ts) <= end)).toBe(true);
    expect(new Set(visits.map(({ country }) => country)).size).toBeGreaterThan(20);
    expect(new Set(visits.map(({ user_agent }) => user_agent)).size).toBe(10);
    expect(visits.filter(({ path }) => path.includes("utm_campaign=")).length).toBeGreaterThan(100);
    const events = visits.filter(({ type }) => type === "event");
    expect([...new Set(events.map(({ name }) => name))].sort()).toEqual(["Download", "Newsletter"]);
    expect(events.every(({ props }) => props !== undefined)).toBe(true);
    expect(visits).toEqual(await planVisits("semicomplete.com", end));
  });
});
