import { describe, expect, it } from "@jest/globals";
import { createPool } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { bytesOf } from "../analytics.fixture.js";
import { importEvents } from "../import/import-events.js";
import { createRequestRecorder } from "../import/request-recorder.js";
import { makeSite } from "../recording/site.fixture.js";
import { machinesOf, storeMachineList } from "./machine-store.query.js";
import { loadMachines } from "./machines.js";

const database = useDatabase();

/** As another process has it, which begins with an own reading. */
async function inNewProcess() {
  const pool = createPool({
    connectionString: database.url,
    maxConnections: 1,
    applicationName: "test",
    statementTimeoutMs: 0,
  });
  try {
    return await machinesOf(pool);
  } finally {
    await pool.end();
  }
}

describe("the list of machines", () => {
  it("is the stored one if that is later than the one that comes with Waymark", async () => {
    const { version, machines } = loadMachines();
    expect(await inNewProcess()).toMatchObject({ list: { version }, storedAt: null });
    await storeMachineList(database.pool, { version, machines: machines.slice(0, 1) });
    expect((await inNewProcess()).list).toBe(loadMachines());
    await storeMachineList(database.pool, { version: "2031-01-01", machines: machines.slice(0, 2) });
    const { list, storedAt, find } = await inNewProcess();
    expect([list.version, list.machines.length, typeof storedAt]).toEqual(["2031-01-01", 2, "string"]);
    expect([find(machines[0]?.name ?? ""), find(machines[2]?.name ?? "")]).toEqual([machines[0], undefined]);
  });

  it("names machines of imports and of servers", async () => {
    const [first] = loadMachines().machines;
    if (!first) throw new Error("The list is empty");
    const newBot = { ...first, name: "New", purpose: "agent" as const, userAgent: "Newcomer", example: "Newcomer bot" };
    await storeMachineList(database.pool, { version: "2031-02-01", machines: [newBot] });
    const pool = createPool({
      connectionString: database.directUrl,
      maxConnections: 4,
      applicationName: "test",
      statementTimeoutMs: 0,
    });
    try {
      const site = await makeSite(pool);
      const line = `192.0.2.1 - - [01/Oct/2026:10:05:00 +0000] "GET /a HTTP/1.1" 200 9 "-" "Newcomer/1 bot"\n`;
      await importEvents({ pool, site, input: bytesOf(line), format: "combined" });
      const { rows } = await pool.query("SELECT account_id FROM site WHERE id = $1", [site.id]);
      const served = { url: new URL(`https://${site.domain}/b`), status: 200, ip: null, referrer: null };
      const requests = [{ ...served, userAgent: "a newcomer bot", at: "2026-10-02T10:00:00.000000Z" }];
      await createRequestRecorder(pool)(rows[0].account_id, { domain: undefined, requests }, () => undefined);
      const sql = "SELECT machine, purpose, requests::int FROM machine_total WHERE site_id = $1 ORDER BY day";
      const counted = { machine: "New", purpose: "agent", requests: 1 };
      expect((await pool.query(sql, [site.id])).rows).toEqual([counted, counted]);
    } finally {
      await pool.end();
    }
  });

  it("is read once a minute, and stays where the database is away", async () => {
    let asked = 0;
    let isAway = false;
    const real = database.pool;
    const pool = new Proxy(real, {
      get: (target, name) =>
        name === "query"
          ? async (query: pg.QueryConfig) => {
              asked++;
              if (isAway) throw new Error("away");
              return target.query(query);
            }
          : Reflect.get(target, name),
    });
    const minute = 60_000;
    const first = await machinesOf(pool, 0);
    await machinesOf(pool, minute - 1);
    expect(asked).toBe(1);
    isAway = true;
    expect(await machinesOf(pool, minute)).toBe(first);
    await new Promise((done) => setImmediate(done));
    isAway = false;
    await storeMachineList(real, { version: "2032-01-01", machines: loadMachines().machines.slice(0, 3) });
    expect(await machinesOf(pool, 2 * minute - 1)).toBe(first);
    expect(asked).toBe(2);
    expect(await machinesOf(pool, 2 * minute)).toBe(first);
    for (let turn = 0; turn < 100 && (await machinesOf(pool, 2 * minute)) === first; turn++)
      await new Promise((done) => setTimeout(done, 50));
    expect((await machinesOf(pool, 2 * minute)).list.version).toBe("2032-01-01");
    expect(asked).toBe(3);
  });
});
