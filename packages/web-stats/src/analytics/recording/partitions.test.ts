import { describe, expect, it } from "@jest/globals";
import { createPool, createUuidV7 } from "@waymark/database";
import { useAnalytics } from "../analytics.fixture.js";
import { makeSite } from "./site.fixture.js";

const analytics = useAnalytics();

describe("partitions", () => {
  it("that another transaction is in the way of are made later, and its events are recorded meanwhile", async () => {
    const site = await makeSite(analytics.pool);
    const other = await analytics.pool.connect();
    await other.query("BEGIN");
    await other.query("LOCK TABLE event_default IN ROW EXCLUSIVE MODE");
    await analytics.load(site, [{ ts: "2018-07-01T00:00:00Z", path: "/" }]);
    await other.query("COMMIT");
    other.release();
    const { rows } = await analytics.pool.query(
      "SELECT tableoid::regclass::text AS partition FROM event WHERE site_id = $1",
      [site.id],
    );
    expect(rows).toEqual([{ partition: "event_default" }]);
  });

  it("are made by month as events come, and events of impossible months stay in the default one", async () => {
    const site = await makeSite(analytics.pool);
    await analytics.load(site, [
      { ts: "2021-02-28T23:59:59Z", path: "/" },
      { ts: "2021-03-01T00:00:00Z", path: "/" },
      { ts: "1970-01-01T00:00:00Z", path: "/" },
      { ts: "9999-12-31T23:59:59Z", path: "/" },
    ]);
    const { rows } = await analytics.pool.query(
      `SELECT tableoid::regclass::text AS partition, count(*)::int FROM event WHERE site_id = $1 GROUP BY 1 ORDER BY 1`,
      [site.id],
    );
    expect(rows).toEqual([
      { partition: "event_202102", count: 1 },
      { partition: "event_202103", count: 1 },
      { partition: "event_default", count: 2 },
    ]);
  });

  it("take over what the default one holds of their month, and are made once by many at once", async () => {
    const site = await makeSite(analytics.pool);
    const pool = createPool({
      connectionString: analytics.databaseUrl,
      maxConnections: 5,
      applicationName: "t",
      statementTimeoutMs: 0,
    });
    const at = Date.parse("2019-07-15T00:00:00Z");
    const id = createUuidV7(() => at)();
    await pool.query(
      "INSERT INTO event (site_id, id, at, type, path, channel) VALUES ($1, $2, $3, 'pageview', '/', 'Direct')",
      [site.id, id, new Date(at)],
    );
    await Promise.all(Array.from({ length: 5 }, () => pool.query("SELECT ensure_event_partition('2019-07-01')")));
    const { rows } = await pool.query("SELECT tableoid::regclass::text AS partition FROM event WHERE id = $1", [id]);
    expect(rows).toEqual([{ partition: "event_201907" }]);
    await pool.end();
  });
});
