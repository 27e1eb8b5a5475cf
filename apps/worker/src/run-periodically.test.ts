import { describe, expect, it } from "@jest/globals";
import { createRegistry } from "@waymark/service";
import { observeJobs, runPeriodically } from "./run-periodically.js";
import { createTestLog } from "./worker.fixture.js";

const job = (name: string, run: () => Promise<unknown>) => ({ name, what: "is a test", everyMs: 3_600_000, run });

describe("runPeriodically", () => {
  it("tells of successes alone, and logs failures", async () => {
    const { log, lines } = createTestLog();
    const succeeded: string[] = [];
    const failing = job("failing", async () => {
      throw new Error("no database");
    });
    const rounds = runPeriodically([job("working", async () => 1), failing], log, ({ name }) => succeeded.push(name));
    await rounds.stop();
    expect(succeeded).toEqual(["working"]);
    expect(lines.map((line) => line["job"])).toEqual(["failing"]);
  });
});

describe("observeJobs", () => {
  it("shows a job's last success and its interval", async () => {
    const registry = createRegistry("worker");
    const working = job("working", async () => 1);
    const onSuccess = observeJobs(registry, [working]);
    const read = async (name: string) => {
      const text = await registry.metrics();
      return Number(new RegExp(`^${name}\\{.*job_name="working".*\\} (\\S+)$`, "m").exec(text)?.[1]);
    };
    const begun = await read("waymark_job_last_success_timestamp_seconds");
    expect(Date.now() / 1_000 - begun).toBeLessThan(3_600);
    while (Date.now() / 1_000 <= begun) await new Promise(setImmediate);
    onSuccess(working);
    expect(await read("waymark_job_last_success_timestamp_seconds")).toBeGreaterThan(begun);
    expect(await read("waymark_job_interval_seconds")).toBe(3_600);
  });
});
