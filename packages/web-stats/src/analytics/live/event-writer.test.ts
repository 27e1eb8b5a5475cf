import { describe, expect, it } from "@jest/globals";
import { createPool, createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { createPartitions, lockSites } from "../recording/record-events.query.js";
import { readRollups, recountRollups } from "../recording/recount.fixture.js";
import type { SiteEvent } from "../recording/site-event.js";
import { view } from "../recording/view.fixture.js";
import { createEventWriter, type EventWriterOptions } from "./recorder.js";

const database = useDatabase();
const uuid = createUuidV7();

const viewOf = (siteId: string): SiteEvent => ({ ...view, siteId, id: uuid() });

const open = (options: Partial<EventWriterOptions> = {}) =>
  createEventWriter({ pool: database.pool, partitions: createPartitions(database.pool), ...options });

/** Another transaction, such as that of a suspended import, that has locked a site. */
async function lock(siteId: string, pool: pg.Pool = database.pool) {
  const client = await pool.connect();
  await client.query("BEGIN");
  await lockSites(client, [siteId]);
  return async () => {
    await client.query("ROLLBACK");
    client.release();
  };
}

const countOf = async (siteId: string) =>
  (await database.pool.query("SELECT count(*)::int AS n FROM event WHERE site_id = $1", [siteId])).rows[0].n;

describe("a writer, while another transaction has locked a site", () => {
  it("writes the events of other sites, and those of the locked site once it is free", async () => {
    const [locked, other] = [uuid(), uuid()];
    const unlock = await lock(locked);
    const writer = open();
    let isWritten = false;
    const late = writer.write([viewOf(locked)]).then(() => {
      isWritten = true;
    });
    for (let n = 0; n < 20; n++) await writer.write([viewOf(other)]);
    expect([await countOf(other), isWritten]).toEqual([20, false]);
    await unlock();
    await late;
    expect(await countOf(locked)).toBe(1);
    expect(await readRollups(database.pool, locked)).toEqual(await recountRollups(database.pool, locked));
  });

  it("refuses only the locked site's events when the lock lasts too long", async () => {
    const [locked, other] = [uuid(), uuid()];
    const unlock = await lock(locked);
    const writer = open({ maxLockWaitMs: 100 });
    const [refused, written] = await Promise.allSettled([
      writer.write([viewOf(locked)]),
      writer.write([viewOf(other)]),
    ]);
    expect(refused).toMatchObject({ reason: { name: "WriterFullError", limit: "site-lock" } });
    expect(written).toMatchObject({ value: "whole" });
    expect([await countOf(locked), await countOf(other)]).toEqual([0, 1]);
    await unlock();
    await writer.write([viewOf(locked)]);
    expect(await countOf(locked)).toBe(1);
  });

  it("does not refuse what another site has already, and says that it is partial", async () => {
    const [locked, other] = [uuid(), uuid()];
    const unlock = await lock(locked);
    const writer = open({ maxLockWaitMs: 100 });
    expect(await writer.write([viewOf(locked), viewOf(other)])).toBe("partial");
    expect([await countOf(locked), await countOf(other)]).toEqual([0, 1]);
    await unlock();
    expect(await writer.write([viewOf(locked), viewOf(other)])).toBe("whole");
    expect([await countOf(locked), await countOf(other)]).toEqual([1, 2]);
  });

  it("serves others though more sites are locked than it has lanes", async () => {
    const sites = Array.from({ length: 5 }, () => uuid());
    const own = createPool({
      connectionString: database.url,
      maxConnections: 5,
      applicationName: "locks",
      statementTimeoutMs: 0,
    });
    const unlocks = await Promise.all(sites.map((site) => lock(site, own)));
    const writer = open();
    const late = sites.map((site) => writer.write([viewOf(site)]));
    const other = uuid();
    for (let n = 0; n < 10; n++) await writer.write([viewOf(other)]);
    expect(await countOf(other)).toBe(10);
    for (const unlock of unlocks) await unlock();
    await Promise.all(late);
    for (const site of sites) expect(await countOf(site)).toBe(1);
    await own.end();
  });

  it("drains what waits for the lock", async () => {
    const site = uuid();
    const unlock = await lock(site);
    const writer = open();
    const written = writer.write([viewOf(site)]);
    const drained = writer.drain();
    await unlock();
    await drained;
    await written;
    expect(await countOf(site)).toBe(1);
  });
});

describe("what waits", () => {
  it("belongs to one site for a quarter at most, and others have room", async () => {
    const [busy, other] = [uuid(), uuid()];
    const unlock = await lock(busy);
    const writer = open({ maxWaiting: 40 });
    const waiting = Array.from({ length: 10 }, () => writer.write([viewOf(busy)]));
    await expect(writer.write([viewOf(busy)])).rejects.toMatchObject({ name: "WriterFullError", limit: "site" });
    await writer.write([viewOf(other)]);
    await unlock();
    await Promise.all(waiting);
    expect([await countOf(busy), await countOf(other)]).toEqual([10, 1]);
  });

  it("is taken of all sites of a beacon or of none", async () => {
    const [busy, other] = [uuid(), uuid()];
    const unlock = await lock(busy);
    const writer = open({ maxWaiting: 40 });
    const waiting = Array.from({ length: 10 }, () => writer.write([viewOf(busy)]));
    const refused = writer.write([viewOf(other), viewOf(busy)]);
    await expect(refused).rejects.toMatchObject({ name: "WriterFullError", limit: "site" });
    await unlock();
    await Promise.all(waiting);
    expect([await countOf(busy), await countOf(other)]).toEqual([10, 0]);
  });

  it("is bounded for all sites together", async () => {
    const sites = Array.from({ length: 5 }, () => uuid());
    const writer = open({ maxWaiting: 4 });
    const results = await Promise.allSettled(sites.map((site) => writer.write([viewOf(site)])));
    expect(results.map(({ status }) => status)).toEqual([...Array(4).fill("fulfilled"), "rejected"]);
    expect(results[4]).toMatchObject({ reason: { limit: "total" } });
  });

  it("is served in turn: one site's backlog does not come before another's event", async () => {
    const [first, busy, other] = [uuid(), uuid(), uuid()];
    const writer = open();
    const order: string[] = [];
    const write = (site: string, count = 1) =>
      writer.write(Array.from({ length: count }, () => viewOf(site))).then(() => order.push(site));
    const all = [write(first), ...Array.from({ length: 24 }, () => write(busy, 100)), write(other)];
    await Promise.all(all);
    expect(order.indexOf(other)).toBeLessThan(order.lastIndexOf(busy) - 10);
  });
});
