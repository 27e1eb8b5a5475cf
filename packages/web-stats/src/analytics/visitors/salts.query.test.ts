import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createSaltStore, purgeSalts } from "./hash-visitor.js";

const database = useDatabase();
const hours = 3_600_000;
const start = Date.parse("2026-05-01T00:00:00Z");

async function saltOf(store: ReturnType<typeof createSaltStore>, day: string): Promise<string> {
  return (await store.saltsOf([day])).get(day)?.toString("hex") ?? "(none)";
}

describe("the salt of a day", () => {
  it("is 32 random bytes, the same for every instance and every time", async () => {
    const stores = Array.from({ length: 8 }, () => createSaltStore({ pool: database.pool, now: () => start }));
    const salts = await Promise.all(
      stores.flatMap((store) => [saltOf(store, "2026-05-01"), saltOf(store, "2026-05-01")]),
    );
    expect(salts[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(salts).size).toBe(1);
    expect(await saltOf(createSaltStore({ pool: database.pool, now: () => start }), "2026-05-02")).not.toBe(salts[0]);
  });

  it("is made for many days at once by several writers without deadlock", async () => {
    const days = Array.from({ length: 300 }, (_, i) => new Date(start + i * 24 * hours).toISOString().slice(0, 10));
    const read = (order: string[]) => createSaltStore({ pool: database.pool, now: () => start }).saltsOf(order);
    const [forth, back] = await Promise.all([read(days), read(days.toReversed())]);
    expect(new Map([...(back ?? [])].sort())).toEqual(new Map([...(forth ?? [])].sort()));
    expect(forth?.size).toBe(300);
  });

  it("lives for 48 hours, in memory too, whether it was purged or not", async () => {
    let now = start;
    const store = createSaltStore({ pool: database.pool, now: () => now });
    const first = await saltOf(store, "2026-06-01");
    now = start + 48 * hours - 1;
    expect(await saltOf(store, "2026-06-01")).toBe(first);
    now = start + 48 * hours;
    const second = await saltOf(store, "2026-06-01");
    expect(second).not.toBe(first);
    expect(await saltOf(createSaltStore({ pool: database.pool, now: () => now }), "2026-06-01")).toBe(second);
  });

  it("is destroyed by purgeSalts after 48 hours and not before", async () => {
    await database.pool.query("DELETE FROM visitor_salt");
    await saltOf(createSaltStore({ pool: database.pool, now: () => start }), "2026-05-01");
    await saltOf(createSaltStore({ pool: database.pool, now: () => start + 1 }), "2026-05-02");
    expect(await purgeSalts(database.pool, new Date(start + 48 * hours - 1))).toBe(0);
    expect(await purgeSalts(database.pool, new Date(start + 48 * hours))).toBe(1);
    const { rows } = await database.pool.query("SELECT day::text AS day FROM visitor_salt");
    expect(rows).toEqual([{ day: "2026-05-02" }]);
  });
});
