import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { purgeEvents } from "./event-retention.query.js";
import { importEvents } from "./import-events.js";
import { readRollups } from "./recount.fixture.js";
import { makeSite } from "./site.fixture.js";

const database = useDatabase();

describe("the retention of raw events", () => {
  it("drops whole months, keeps later ones, and leaves the rollups", async () => {
    const site = await makeSite(database.pool);
    const { id } = site;
    const lines = ["1980-05-01", "2026-02-28", "2026-03-01", "2026-04-30"].map(
      (day) => `${JSON.stringify({ ts: `${day}T23:00:00Z`, path: "/", visitor: "1" })}\n`,
    );
    const input = async function* () {
      yield Buffer.from(lines.join(""));
    };
    await importEvents({ pool: database.pool, site, input: input() });
    const before = await readRollups(database.pool, id);
    const purged = await purgeEvents(database.pool, { firstMonth: "2026-03-01" });
    expect(purged).toEqual({ partitions: ["event_202602"], rows: 3 });
    const { rows } = await database.pool.query("SELECT at FROM event WHERE site_id = $1 ORDER BY at", [id]);
    expect(rows.map(({ at }) => at.toISOString())).toEqual(["2026-03-01T23:00:00.000Z", "2026-04-30T23:00:00.000Z"]);
    expect(await readRollups(database.pool, id)).toEqual(before);
    expect(await purgeEvents(database.pool, { firstMonth: "2026-03-01" })).toEqual({ partitions: [], rows: 0 });
  });

  it("leaves a month that is in use to the next round", async () => {
    await database.pool.query("SELECT ensure_event_partition('2025-01-01')");
    const reader = await database.pool.connect();
    await reader.query("BEGIN");
    await reader.query("SELECT count(*) FROM event_202501");
    expect(await purgeEvents(database.pool, { firstMonth: "2025-02-01" })).toMatchObject({ partitions: [] });
    await reader.query("COMMIT");
    reader.release();
    expect(await purgeEvents(database.pool, { firstMonth: "2025-02-01" })).toMatchObject({
      partitions: ["event_202501"],
    });
  });
});
