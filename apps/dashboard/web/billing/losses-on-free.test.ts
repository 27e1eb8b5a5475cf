import { describe, expect, it } from "@jest/globals";
import { lossesOnFree } from "./losses-on-free.js";

const traces = { limit: 50_000, current: 12, remaining: 49_988, resets_at: "2026-12-01T00:00:00.000Z" };
const usage = {
  plan: "pro",
  month: "2026-11",
  traces,
  bytes: { limit: 25e9, current: 256e6 - 1, remaining: 1 },
  keep: "all",
  leave_out: Array.of<never>(),
  dropped: { traces: 0, since: "2026-11-01T00:00:00.000Z" },
  agents: { limit: null, current: 1 },
  retention_days: 90,
} as const;
const onFree = { oldTraces: 0, hasMoreOldTraces: false, statisticsKeys: 0 };
const plain = (texts: string[]) => texts.map((text) => text.replace(/[\u00a0\u202f]/g, " "));

describe("lossesOnFree", () => {
  it("names the limits alone where nothing is beyond them", () => {
    expect(plain(lossesOnFree({ onFree }, usage))).toEqual([
      "Traces: 1 000 a month instead of 50 000.",
      "Storage: 256 MB a month instead of 25 GB.",
      "Agents beyond 1.",
      "Retention: 30 days instead of 90. 0 traces are older and would be deleted.",
      "Mails about failed traces.",
      "The Analytics API.",
    ]);
  });

  it("counts what is beyond them", () => {
    const many = { ...usage, traces: { ...traces, current: 7_000 }, agents: { limit: null, current: 6 } };
    const stored = { ...many, bytes: { ...usage.bytes, current: 256e6 } };
    const more = { oldTraces: 10_000, hasMoreOldTraces: true, statisticsKeys: 2 };
    expect(plain(lossesOnFree({ onFree: more }, stored))).toEqual([
      "Traces: 1 000 a month instead of 50 000. This month has 7 000, so new ones are refused until 1 Dec 2026, 00:00 UTC.",
      "Storage: 256 MB a month instead of 25 GB. This month has 256 MB, so more is refused until 1 Dec 2026, 00:00 UTC.",
      "Agents: 6 have traces now. They go on, and no new one can begin.",
      "Retention: 30 days instead of 90. More than 10 000 traces are older and would be deleted.",
      "Mails about failed traces.",
      "The Analytics API. 2 keys would be refused.",
    ]);
  });
});
