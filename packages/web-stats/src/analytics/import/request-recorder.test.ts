import { createHash, generateKeyPairSync, sign } from "node:crypto";
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
    const record = createRequestRecorder(pool, { resolver: server.resolver });
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

  it("counts a person's user agent as an agent by a right signature alone", async () => {
    const { pool } = database;
    const site = await makeSite(pool, uuid());
    const { rows } = await pool.query("SELECT account_id FROM site WHERE id = $1", [site.id]);
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const jwk = publicKey.export({ format: "jwk" });
    const keyId = createHash("sha256")
      .update(JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x }))
      .digest("base64url");
    const directory = JSON.stringify({ keys: [jwk] });
    const asked: string[] = [];
    const record = createRequestRecorder(pool, {
      async fetch(url) {
        asked.push(url);
        return new Response(directory);
      },
    });
    const now = new Date();
    const created = Math.floor(now.getTime() / 1_000);
    const requestOf = (agent: string, path: string, userAgent: string | null) => {
      const list = `("@authority" "signature-agent");created=${created};expires=${created + 60};keyid="${keyId}";tag="web-bot-auth"`;
      const lines = [`"@authority": ${site.domain}`, `"signature-agent": ${agent}`, `"@signature-params": ${list}`];
      const signature = sign(null, Buffer.from(lines.join("\n")), privateKey).toString("base64");
      const signed = { signature: `a=:${signature}:`, input: `a=${list}`, agent };
      const url = new URL(`https://${site.domain}${path}`);
      const at = now.toISOString().replace("Z", "000Z");
      return { url, status: 200, ip: "192.0.2.1", userAgent, referrer: null, at, signed };
    };
    const chrome =
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36";
    const right = requestOf('"https://chatgpt.com"', "/agent", chrome);
    const requests = [
      right,
      { ...right, url: new URL(`https://${site.domain}/moved`) },
      { ...right, url: new URL("https://other.example/"), signed: right.signed },
      { ...requestOf('"https://chatgpt.com"', "/forged", chrome), signed: { ...right.signed, signature: "a=:AAAA:" } },
      requestOf('"https://chatgpt.com"', "/none", null),
      requestOf('"https://unlisted.example"', "/unlisted", chrome),
      requestOf('"https://agent.bot.goog"', "/google", "Mozilla/5.0 (compatible; Google-Agent) Chrome/134.0.0.0"),
      {
        ...requestOf('"https://chatgpt.com"', "/lie", googlebot),
        signed: { ...right.signed, agent: '"https://unlisted.example"' },
      },
    ];
    const admitted: number[] = [];
    const admit = (_site: string, count: number) => void admitted.push(count);
    expect(await record(rows[0].account_id, { domain: undefined, requests }, admit)).toEqual({
      machines: 5,
      duplicates: 0,
      people: 2,
      unknown: 1,
    });
    expect(admitted).toEqual([6]);
    expect(new Set(asked.map((url) => new URL(url).origin))).toEqual(
      new Set(["https://chatgpt.com", "https://agent.bot.goog"]),
    );
    const sql = "SELECT machine, purpose, path, verified::int FROM machine_day WHERE site_id = $1 ORDER BY path";
    expect((await pool.query(sql, [site.id])).rows).toEqual([
      { machine: "ChatGPT agent", purpose: "agent", path: "/agent", verified: 1 },
      { machine: "Google-Agent", purpose: "agent", path: "/google", verified: 1 },
      { machine: "Googlebot", purpose: "search", path: "/lie", verified: 0 },
      { machine: "ChatGPT agent", purpose: "agent", path: "/moved", verified: 1 },
      { machine: "ChatGPT agent", purpose: "agent", path: "/none", verified: 1 },
    ]);
  });
});
