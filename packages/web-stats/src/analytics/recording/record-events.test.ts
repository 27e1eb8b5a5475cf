import { describe, expect, it } from "@jest/globals";
import { createUuidV7, formatUuid, inTransaction } from "@waymark/database";
import { randomRuns, useDatabase } from "@waymark/testing";
import fc from "fast-check";
import { listColumns, lists, listsPerView, listsPerVisit, visitColumnOf } from "../../lists/lists.js";
import { recordEvents } from "./record-events.js";
import { readRollups, recountRollups } from "./recount.fixture.js";
import type { SiteEvent } from "./site-event.js";
import { recordForthAndBack } from "./two-writers.fixture.js";
import { view } from "./view.fixture.js";

const database = useDatabase();
const uuid = createUuidV7();

async function record(siteId: string, events: readonly Omit<SiteEvent, "siteId">[]): Promise<number> {
  const client = await database.pool.connect();
  try {
    return await inTransaction(client, () =>
      recordEvents(
        client,
        events.map((event) => ({ ...event, siteId })),
      ),
    );
  } finally {
    client.release();
  }
}

describe("recordEvents", () => {
  it("has a column for each list in both tables, and its rows by hash for a list by view", async () => {
    const columnsOf = async (table: string) => {
      const sql = "SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1";
      return (await database.pool.query<{ name: string }>(sql, [table])).rows.map(({ name }) => name);
    };
    expect(await columnsOf("event")).toEqual(expect.arrayContaining([...listColumns]));
    expect(await columnsOf("visit")).toEqual(expect.arrayContaining(listsPerVisit.map(visitColumnOf)));
    const { rows } = await database.pool.query(
      "SELECT indexdef FROM pg_indexes WHERE indexname = 'daily_stat_seen_idx'",
    );
    for (const { dimension } of listsPerView) expect(rows[0]?.indexdef).toContain(`'${dimension}'`);
  });

  it("counts a visitor once a day per dimension, and every view", async () => {
    const site = uuid();
    const views = [
      { ...view, id: uuid(), path: "/a" },
      { ...view, id: uuid(), path: "/b", source: "Google", channel: "Search" as const, country: "DE" },
      { ...view, id: uuid(), path: "/a", visitor: "2" },
      { ...view, id: uuid(), path: "/a", at: "2026-05-02T00:00:00.000000Z" },
    ];
    expect(await record(site, views)).toBe(4);
    expect(await readRollups(database.pool, site)).toEqual({
      stats: {
        "2026-05-01 total ": [2, 3],
        "2026-05-01 entry /a": [2, 0],
        "2026-05-01 page /a": [2, 2],
        "2026-05-01 page /b": [1, 1],
        "2026-05-01 source Google": [1, 1],
        "2026-05-01 country DE": [1, 1],
        "2026-05-01 channel Direct": [2, 2],
        "2026-05-01 channel Search": [1, 1],
        "2026-05-02 total ": [1, 1],
        "2026-05-02 entry /a": [1, 0],
        "2026-05-02 page /a": [1, 1],
        "2026-05-02 channel Direct": [1, 1],
      },
      events: {},
    });
  });

  it("puts the last microsecond of a UTC day into that day", async () => {
    const site = uuid();
    await record(site, [
      { ...view, id: uuid(), at: "2026-05-01T23:59:59.999999Z" },
      { ...view, id: uuid(), at: "2026-05-02T00:00:00.000000Z" },
    ]);
    const { stats } = await readRollups(database.pool, site);
    expect(stats["2026-05-01 total "]).toEqual([1, 1]);
    expect(stats["2026-05-02 total "]).toEqual([1, 1]);
  });

  it("counts a view without a visitor as a view alone", async () => {
    const site = uuid();
    await record(site, [{ ...view, id: uuid(), visitor: null }]);
    expect((await readRollups(database.pool, site)).stats["2026-05-01 total "]).toEqual([0, 1]);
  });

  it("counts custom events by name and by each property's value, and no visitor for them", async () => {
    const site = uuid();
    const event = { ...view, type: "event" as const, name: "signup" };
    const own = JSON.parse('{"__proto__":"x","plan":"pro","seats":3,"trial":true}');
    await record(site, [
      { ...event, id: uuid(), props: own },
      { ...event, id: uuid(), props: { plan: "pro", seats: 1e21 } },
      { ...event, id: uuid(), props: null },
    ]);
    expect(await readRollups(database.pool, site)).toEqual({
      stats: {},
      events: {
        "2026-05-01 signup  ": 3,
        "2026-05-01 signup __proto__ x": 1,
        "2026-05-01 signup plan pro": 2,
        "2026-05-01 signup seats 3": 1,
        "2026-05-01 signup seats 1e+21": 1,
        "2026-05-01 signup trial true": 1,
      },
    });
  });

  it("records an id once, within a batch and across batches", async () => {
    const site = uuid();
    const id = uuid();
    expect(
      await record(site, [
        { ...view, id },
        { ...view, id, path: "/other" },
      ]),
    ).toBe(1);
    expect(await record(site, [{ ...view, id }])).toBe(0);
    expect((await readRollups(database.pool, site)).stats["2026-05-01 total "]).toEqual([1, 1]);
  });

  it("holds the longest keys that the bounds allow", async () => {
    const site = uuid();
    // Random text, since Postgres compresses repetitive keys.
    const long = (bytes: number) =>
      fc.sample(
        fc.string({
          unit: fc.constantFrom(..."0123456789abcdefghijklmnopqrstuvwxyz"),
          minLength: bytes,
          maxLength: bytes,
        }),
        1,
      )[0] ?? "";
    const props = { [long(200)]: long(2_000) };
    const pageview = { ...view, id: uuid(), path: `/${long(1_999)}`, source: long(255), referrer: long(2_000) };
    await record(site, [pageview, { ...view, id: uuid(), type: "event", name: long(200), props }]);
    const { stats, events } = await readRollups(database.pool, site);
    const counted = Object.values(lists).filter(
      ({ column, dimension }) => pageview[column] !== null && dimension !== "exit",
    );
    expect(Object.keys(stats)).toHaveLength(["total", ...counted].length);
    expect(Object.keys(events)).toHaveLength(2);
  });

  it("equals a recount over the events, whatever they are, however they are cut up and whoever writes them", async () => {
    const text = fc.constantFrom("/a", "/b", "ü", "");
    const events = fc.array(
      fc.record({
        key: fc.integer({ min: 0, max: 30 }),
        day: fc.integer({ min: 1, max: 3 }),
        second: fc.integer({ min: 0, max: 3 }),
        isEvent: fc.boolean(),
        visitor: fc.option(fc.constantFrom("-2", "-1", "0", "1", "2")),
        path: text,
        source: fc.option(text),
        channel: fc.constantFrom("Direct" as const, "Search" as const),
        country: fc.option(fc.constantFrom("DE", "FR")),
        browser: fc.option(fc.constantFrom("Firefox", "Chrome")),
        utm_campaign: fc.option(text),
        props: fc.option(
          fc.dictionary(fc.constantFrom("a", "__proto__", "1"), fc.oneof(text, fc.integer(), fc.boolean())),
        ),
      }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(events, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), async (drawn, sizes) => {
        const site = uuid();
        const all = drawn.map(
          ({ key, day, second, isEvent, props, ...rest }): Omit<SiteEvent, "siteId"> => ({
            ...view,
            ...rest,
            // Equal keys draw equal ids with different content: the first recorded one counts.
            id: formatUuid(Buffer.alloc(16, key)),
            at: `2026-05-0${day}T00:00:0${second}.000000Z`,
            type: isEvent ? "event" : "pageview",
            referrer: null,
            name: isEvent ? "signup" : null,
            props: isEvent ? props : null,
          }),
        );
        await recordForthAndBack(all, sizes, (batch) => record(site, batch));
        expect(await readRollups(database.pool, site)).toEqual(await recountRollups(database.pool, site));
        const { rows } = await database.pool.query("SELECT count(*)::int AS n FROM event WHERE site_id = $1", [site]);
        expect(rows[0].n).toBe(new Set(all.map(({ id }) => id)).size);
      }),
      randomRuns(10),
    );
  });
});
