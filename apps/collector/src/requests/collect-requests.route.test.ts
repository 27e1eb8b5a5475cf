import { Readable } from "node:stream";
import { describe, expect, it } from "@jest/globals";
import { issueKey } from "@waymark/accounts";
import type { KeyScope } from "@waymark/auth";
import { importEvents } from "@waymark/web-stats/analytics";
import request from "supertest";
import { firefox, useApp } from "../app.fixture.js";

const test = useApp();
const limited = useApp({ eventsPerSecond: { perAddress: 50, perSite: 100 } });

const gptBot = "Mozilla/5.0; compatible; GPTBot/1.2; +https://openai.com/gptbot";
const now = new Date(Math.floor(Date.now() / 1_000) * 1_000);

/** A site of an account with a key. */
async function makeOwner(app = test, scope: KeyScope = "ingest") {
  const site = await app.makeSite();
  const { rows } = await app.pool.query("SELECT account_id FROM site WHERE id = $1", [site.id]);
  const accountId: string = rows[0].account_id;
  const { key } = await issueKey(app.pool, { accountId, service: "trace", scope, name: "server" });
  const usual = {
    url: `https://${site.domain}/a?b=1`,
    status: 200,
    method: "GET",
    ip: "74.7.227.9",
    user_agent: gptBot,
    referrer: null,
    at: now.toISOString(),
  };
  const send = (body: object, as: string | null = key) =>
    request(app.app)
      .post("/api/requests")
      .set(as === null ? {} : { Authorization: `Bearer ${as}` })
      .send(body);
  return { ...site, accountId, key, usual, send };
}

const rowsOf = async (siteId: string) =>
  (
    await test.pool.query(
      "SELECT machine, path, requests::int, verified::int, refuted::int, errors::int FROM machine_day WHERE site_id = $1 ORDER BY machine, path",
      [siteId],
    )
  ).rows;

const at = (ms: number) => new Date(now.getTime() + ms).toISOString();

describe("202", () => {
  it("counts machines by the rules of an import, and leaves people and other hosts", async () => {
    const { id, domain, usual, send } = await makeOwner();
    const { body } = await send({
      requests: [
        usual,
        { ...usual, at: at(1), status: 503, ip: "192.0.2.9" },
        {
          ...usual,
          at: at(2),
          url: `https://www.${domain}/robots.txt`,
          user_agent: "NobodyKnowsThisBot/1.0",
          method: "HEAD",
        },
        { ...usual, at: at(3), user_agent: firefox },
        { ...usual, at: at(4), user_agent: null },
        { ...usual, at: at(5), url: "https://elsewhere.example/" },
      ],
    }).expect(202);
    expect(body).toEqual({ machines: 3, duplicates: 0, people: 2, unknown: 1 });
    const { rowCount } = await test.pool.query("SELECT FROM event WHERE site_id = $1", [id]);
    expect(rowCount).toBe(0);
    expect(await rowsOf(id)).toEqual([
      { machine: "GPTBot", path: "/a", requests: 2, verified: 1, refuted: 1, errors: 1 },
      { machine: "other", path: "/robots.txt", requests: 1, verified: 0, refuted: 0, errors: 0 },
    ]);
  });

  it("counts a batch once that comes again, also at the same time, and after an import of the log", async () => {
    const { id, domain, usual, send } = await makeOwner();
    const batch = { requests: [usual, usual, { ...usual, at: at(7) }] };
    const answers = await Promise.all([send(batch), send(batch), send(batch)]);
    const sum = (name: string) => answers.reduce((total, { body }) => total + body[name], 0);
    expect([sum("machines"), sum("duplicates")]).toEqual([3, 6]);
    const [, day, month, year, time] = now.toUTCString().split(" ");
    const line = `${usual.ip} - - [${day}/${month}/${year}:${time} +0000] "GET /a?b=1 HTTP/1.1" 200 9 "-" "${gptBot}"\n`;
    const input = Readable.from([Buffer.from(line)]);
    const result = await importEvents({ pool: test.pool, site: { id, domain }, input, format: "combined" });
    expect(result).toMatchObject({ machines: 0, duplicates: 1 });
    expect(await rowsOf(id)).toMatchObject([{ requests: 3 }]);
  });

  it("takes another host's addresses for the domain that the batch names", async () => {
    const { id, domain, usual, send } = await makeOwner();
    const batch = { domain: domain.toUpperCase(), requests: [{ ...usual, url: "http://10.0.0.7:3000/x" }] };
    expect((await send(batch).expect(202)).body.machines).toBe(1);
    expect(await rowsOf(id)).toMatchObject([{ path: "/x" }]);
  });

  it("takes a thousand requests with long fields", async () => {
    const { id, domain, usual, send } = await makeOwner();
    const requests = Array.from({ length: 1_000 }, (_, n) => ({
      ...usual,
      at: at(n),
      url: `https://${domain}/${n}${"é".repeat(60)}`,
      user_agent: `${"x".repeat(500)} bot ${n}`,
    }));
    const { body } = await send({ requests }).expect(202);
    expect(body).toEqual({ machines: 1_000, duplicates: 0, people: 0, unknown: 0 });
    expect(await rowsOf(id)).toHaveLength(1_000);
  });

  it("takes signatures of any text, and none of more than 1,000 characters", async () => {
    const { usual, send } = await makeOwner();
    const signed = { signature: "a=:AA==:", signature_input: "é", signature_agent: "x".repeat(1_001) };
    const requests = [
      { ...usual, ...signed },
      { ...usual, at: at(1), ...signed, user_agent: firefox },
    ];
    expect((await send({ requests }).expect(202)).body).toMatchObject({ machines: 1, people: 1 });
    await send({ requests: [{ ...usual, signature: 1 }] }).expect(400);
  });

  it("cuts a path to its bound", async () => {
    const { id, domain, usual, send } = await makeOwner();
    await send({
      requests: [{ ...usual, url: `https://${domain}/${"x".repeat(5_000)}`, referrer: "x".repeat(9_000) }],
    }).expect(202);
    const [row] = await rowsOf(id);
    expect(row?.path).toHaveLength(2_000);
  });
});

describe("400", () => {
  it("names each wrong field with its place, and counts nothing", async () => {
    const { id, usual, send } = await makeOwner();
    const wrong = [
      usual,
      { ...usual, url: "/a", status: 99, at: "yesterday" },
      { ...usual, ip: "10.0.0.0/8", method: "", at: "2020-01-01T00:00:00Z" },
      { ...usual, user_agent: "a\0b", status: "200" },
      {},
    ];
    const { body } = await send({ requests: wrong }).expect(400);
    expect(Object.keys(body.fields).sort()).toEqual(
      [
        ...["requests.1.url", "requests.1.status", "requests.1.at"],
        ...["requests.2.ip", "requests.2.method", "requests.2.at"],
        ...["requests.3.user_agent", "requests.3.status"],
        ...["requests.4.url", "requests.4.status", "requests.4.at"],
      ].sort(),
    );
    expect(await rowsOf(id)).toEqual([]);
  });

  it("refuses no requests, and more than a thousand", async () => {
    const { usual, send } = await makeOwner();
    expect((await send({ requests: [] }).expect(400)).body.fields).toHaveProperty("requests");
    const many = { requests: Array.from({ length: 1_001 }, () => usual) };
    expect((await send(many).expect(400)).body.fields).toEqual({ requests: "Must be at most 1000 elements" });
    expect((await send({}).expect(400)).body.fields).toEqual({ requests: "Required" });
  });

  it("refuses days whose lines are forgotten", async () => {
    const { id, usual, send } = await makeOwner();
    await test.pool.query("UPDATE event_horizon SET day = $1", [at(0).slice(0, 10)]);
    const old = { ...usual, at: at(-86_400_000) };
    const { body } = await send({ requests: [usual, old] }).expect(400);
    await test.pool.query("UPDATE event_horizon SET day = NULL");
    expect(Object.keys(body.fields)).toEqual(["requests.1.at"]);
    expect(await rowsOf(id)).toEqual([]);
  });
});

describe("401, 403 and 404", () => {
  it("refuse requests without a key that sends, and another account's site", async () => {
    const [own, other, reader] = [await makeOwner(), await makeOwner(), await makeOwner(test, "read")];
    const batch = { requests: [own.usual] };
    await own.send(batch, null).expect(401);
    await own.send(batch, "wmk_trace_nonsense").expect(401);
    const stats = await issueKey(test.pool, {
      accountId: own.accountId,
      service: "analytics",
      scope: "all",
      name: "s",
    });
    await own.send(batch, stats.key).expect(401);
    await own.send({ requests: [reader.usual] }, reader.key).expect(403);
    expect((await own.send(batch, other.key).expect(404)).body).toEqual({ error: "Site not found" });
    await own.send({ domain: own.domain, requests: [other.usual] }, other.key).expect(404);
    expect([await rowsOf(own.id), await rowsOf(other.id), await rowsOf(reader.id)]).toEqual([[], [], []]);
  });
});

describe("413 and 429", () => {
  it("bound the body, a site's requests and an address", async () => {
    const { id, domain, usual, send } = await makeOwner(limited);
    await send({ requests: [{ ...usual, url: `https://${domain}/${"x".repeat(1_100_000)}` }] }).expect(413);
    const batch = (from: number) => ({
      requests: Array.from({ length: 500 }, (_, n) => ({ ...usual, at: at(from + n) })),
    });
    await send(batch(0)).expect(202);
    await send(batch(500)).expect(202);
    const { body, headers } = await send({ requests: [{ ...usual, at: at(5_000) }] }).expect(429);
    expect(body).toMatchObject({ limit: 100, reason: "A site takes 100 requests of machines a second" });
    expect(headers["retry-after"]).toBe("1");
    // Events of browsers count apart.
    await limited.post({ n: "pageview", u: `https://${domain}/`, d: domain }).expect(202);
    const { rows } = await limited.pool.query("SELECT sum(requests)::int AS sum FROM machine_day WHERE site_id = $1", [
      id,
    ]);
    expect(rows).toEqual([{ sum: 1_000 }]);
    for (let n = 0; n < 600; n++) {
      const { status } = await send({}, null);
      if (status === 429) return;
    }
    throw new Error("An address may try keys without end");
  });
});
