import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createTestLog } from "../worker.fixture.js";
import { createKeepEvents } from "./keep-events.job.js";

const database = useDatabase();

async function run(at: string, eventRetentionMonths?: number) {
  const keep = createKeepEvents({
    pool: database.pool,
    log: createTestLog().log,
    eventRetentionMonths,
    now: () => new Date(at),
    isStopping: () => false,
  });
  await keep();
  const { rows } = await database.pool.query(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'event'::regclass ORDER BY 1",
  );
  return rows.map(({ name }) => name);
}

describe("keeping raw events", () => {
  it("makes this month's partition and the next one's, over the turn of a year", async () => {
    expect(await run("2025-12-31T23:59:59Z")).toEqual(["event_202512", "event_202601", "event_default"]);
  });

  it("keeps everything by default, and with a number of months those besides the present one", async () => {
    await run("2026-02-15T00:00:00Z");
    expect(await run("2026-03-31T00:00:00Z")).toEqual([
      "event_202512",
      "event_202601",
      "event_202602",
      "event_202603",
      "event_202604",
      "event_default",
    ]);
    expect(await run("2026-03-31T00:00:00Z", 1)).toEqual([
      "event_202602",
      "event_202603",
      "event_202604",
      "event_default",
    ]);
  });

  it("notes how far back events are complete before it removes any", async () => {
    await run("2026-03-31T00:00:00Z", 1);
    const { rows } = await database.pool.query("SELECT day::text FROM event_horizon");
    expect(rows).toEqual([{ day: "2026-02-01" }]);
    await run("2026-03-31T00:00:00Z", 6);
    expect((await database.pool.query("SELECT day::text FROM event_horizon")).rows).toEqual(rows);
  });
});
