import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import { startNameServer, useDatabase } from "@waymark/testing";
import { makeSite } from "../recording/site.fixture.js";
import { createRequestRecorder } from "./request-recorder.js";

const database = useDatabase();
const uuid = createUuidV7();

const googlebot = "Googlebot/2.1 (+http://www.google.com/bot.html)";

describe("a batch of a server", () => {
  it("waits shortly for the names of addresses, and the next one finds them", async () => {
    const { pool } = database;
    const site = await makeSite(pool, uuid());
    const { rows } = await pool.query("SELECT account_id FROM site WHERE id = $1", [site.id]);
    const silent = Array.from({ length: 8 }, (_, index) => [`PTR ${index}.9.9.9.in-addr.arpa`, "silent"] as const);
    const server = await startNameServer({
      "PTR 1.66.249.66.in-addr.arpa": ["crawl-66-249-66-1.googlebot.com"],
      "A crawl-66-249-66-1.googlebot.com": ["66.249.66.1"],
      ...Object.fromEntries(silent),
    });
    const record = createRequestRecorder(pool, server.resolver);
    const send = (ips: readonly string[], second: number) => {
      const at = `${new Date().toISOString().slice(0, 10)}T00:00:0${second}.000000Z`;
      const url = new URL(`https://${site.domain}/${second}`);
      const requests = ips.map((ip) => ({ url, status: 200, ip, userAgent: googlebot, referrer: null, at }));
      return record(rows[0].account_id, { domain: undefined, requests }, () => undefined);
    };
    const [known, lost] = ["66.249.66.1", Array.from({ length: 8 }, (_, index) => `9.9.9.${index}`)];
    expect(await send([...lost, known], 1)).toMatchObject({ machines: 9 });
    // The answer of the first batch may have come after its wait.
    while (server.asked.length < 10) await new Promise((done) => setImmediate(done));
    for (let second = 2; ; second++) {
      await send([known], second);
      const sql = "SELECT verified::int, refuted::int FROM machine_total WHERE site_id = $1";
      const [sums] = (await pool.query(sql, [site.id])).rows;
      expect(sums.refuted).toBe(0);
      if (sums.verified > 0) break;
    }
    server.close();
  });
});
