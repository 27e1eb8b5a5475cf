import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { firefox, useApp } from "../app.fixture.js";

const droppedHeader = "x-waymark-dropped";

describe("POST /api/event", () => {
  const test = useApp();

  describe("202", () => {
    it("answers once the event is committed, in the long form and in the short one", async () => {
      const { id, domain } = await test.makeSite();
      const url = `https://${domain}/a?utm_source=weekly&utm_medium=email`;
      const referrer = "https://www.google.com/";
      const long = await test.post({ name: "pageview", url, domain, referrer }, { "Content-Type": "application/json" });
      expect([long.status, long.text, long.headers[droppedHeader]]).toEqual([202, "ok", undefined]);
      await test.post({ n: "signup", u: url, d: domain, r: null, p: { plan: "pro", seats: 3 } }).expect(202, "ok");
      expect(await test.readEvents(id)).toMatchObject([
        { type: "pageview", path: "/a", source: "weekly", channel: "Email", referrer, browser: "Firefox", name: null },
        { type: "event", path: "/a", name: "signup", props: { plan: "pro", seats: 3 } },
      ]);
    });

    it.each([
      ["application/json"],
      ["text/plain;charset=UTF-8"],
      ["application/x-www-form-urlencoded"],
      ["application/octet-stream"],
    ])("takes JSON that is called %s", async (type) => {
      const { id, domain } = await test.makeSite();
      await test.post({ n: "pageview", u: `https://${domain}/`, d: domain }, { "Content-Type": type }).expect(202);
      expect(await test.readEvents(id)).toHaveLength(1);
    });

    it("takes JSON without a content type", async () => {
      const { id, domain } = await test.makeSite();
      const body = JSON.stringify({ n: "pageview", u: `https://${domain}/`, d: domain });
      await request(test.app)
        .post("/api/event")
        .set("User-Agent", firefox)
        .send(Buffer.from(body))
        .expect(({ request: { header } }: { request: { header?: object } }) =>
          expect(header).not.toHaveProperty("content-type"),
        )
        .expect(202);
      expect(await test.readEvents(id)).toHaveLength(1);
    });

    it("records an event for each of the domains that are known", async () => {
      const [one, two] = [await test.makeSite(), await test.makeSite()];
      const domain = ` ${one.domain}, ${two.domain},unknown.example,`;
      const answer = await test.post({ n: "pageview", u: `https://${one.domain}/x`, d: domain }).expect(202);
      expect(answer.headers[droppedHeader]).toBeUndefined();
      for (const { id } of [one, two]) expect(await test.readEvents(id)).toMatchObject([{ path: "/x" }]);
    });

    it("takes revenue from its text, events without interaction, and engagement", async () => {
      const { id, domain } = await test.makeSite();
      const [u, d] = [`https://${domain}/`, domain];
      const send = (body: string | object) => test.post(body).expect(202, "ok");
      await send(`{"n":"buy","u":"${u}","d":"${d}","$":{"amount":123456789012345678.10,"currency":"EUR"}}`);
      await send({ n: "buy", u, d, $: JSON.stringify({ amount: "1e2", currency: "USD" }), i: false });
      await send({ name: "click", url: u, domain, interactive: false, revenue: {} });
      await send({ n: "pageview", u, d, i: false, $: { amount: "x" } });
      await send({ n: "engagement", u, d, e: 2_500.4, sd: 101, p: { a: 1 }, $: 1 });
      await send({ n: "engagement", u, d, e: -1, sd: null });
      const none = { revenue_amount: null, revenue_currency: null };
      expect(await test.readEvents(id)).toMatchObject([
        { revenue_amount: "123456789012345678.100000", revenue_currency: "EUR", is_interactive: true },
        { revenue_amount: "100.000000", revenue_currency: "USD", is_interactive: false },
        { ...none, name: "click", is_interactive: false },
        { ...none, type: "pageview", is_interactive: true },
        { ...none, type: "engagement", path: "/", name: null, props: null, engaged_ms: 2_500, scroll_depth: 100 },
        { type: "engagement", engaged_ms: null, scroll_depth: null },
      ]);
    });

    it("takes properties as JSON text, as plausible-tracker sends them, and keeps none that is null", async () => {
      const { id, domain } = await test.makeSite();
      const p = JSON.stringify({ plan: "pro", none: null });
      await test.post({ n: "signup", u: `https://${domain}/`, d: domain, p }).expect(202);
      expect(await test.readEvents(id)).toMatchObject([{ props: { plan: "pro" } }]);
    });

    it("takes the part after # for the path where h is 1", async () => {
      const { id, domain } = await test.makeSite();
      await test.post({ n: "pageview", u: `https://${domain}/app#/settings`, d: domain, h: 1 }).expect(202);
      await test.post({ n: "pageview", u: `https://${domain}/app#/settings`, d: domain, h: 0 }).expect(202);
      expect((await test.readEvents(id)).map(({ path }) => path)).toEqual(["/app#/settings", "/app"]);
    });

    it("makes half a surrogate pair U+FFFD, as browsers do, and keeps what else is odd", async () => {
      const { id, domain } = await test.makeSite();
      const odd = `{"n":"cut \\ud83d","u":"https://${domain}/\\ud83d\\u0000.","d":"${domain}","r":"\\u0000\\udead","p":{"a\\ud83d":"b\\udc00","__proto__":"x"}}`;
      await test.post(odd).expect(202);
      const [event] = await test.readEvents(id);
      expect(event).toMatchObject({ name: "cut \ufffd", path: "/%EF%BF%BD%00.", referrer: null });
      expect(JSON.stringify(event?.["props"])).toBe('{"a\ufffd":"b\ufffd","__proto__":"x"}');
    });

    it("takes the page's own host for no referrer, also where the site's domain is another", async () => {
      const { id, domain } = await test.makeSite();
      const u = "https://staging.example:8443/b";
      await test.post({ n: "pageview", u, d: domain, r: "https://staging.example:8443/a" }).expect(202);
      await test.post({ n: "pageview", u, d: domain, r: "https://staging.example/a" }).expect(202);
      expect(await test.readEvents(id)).toMatchObject([
        { referrer: null, channel: "Direct" },
        { referrer: "https://staging.example/a", channel: "Referral" },
      ]);
    });

    it("keeps of a long referrer its path, and of a long path its origin", async () => {
      const { id, domain } = await test.makeSite();
      const r = `https://news.ycombinator.com/item?id=${"1".repeat(50_000)}`;
      const path = `https://news.ycombinator.com/${"1".repeat(500)}`;
      await test.post({ n: "pageview", u: `https://${domain}/`, d: domain, r }).expect(202);
      await test
        .post({ n: "pageview", u: `https://${domain}/`, d: domain, r: `no url ${"1".repeat(50_000)}` })
        .expect(202);
      await test.post({ n: "pageview", u: `https://${domain}/`, d: domain, r: path }).expect(202);
      expect(await test.readEvents(id)).toMatchObject([
        { source: "Hacker News", referrer: "https://news.ycombinator.com/item" },
        { source: null, referrer: null },
        { source: "Hacker News", referrer: "https://news.ycombinator.com/" },
      ]);
    });

    it("says why an event was left out, and counts it by reason", async () => {
      const { id, domain } = await test.makeSite();
      const u = `https://${domain}/`;
      await test.post({ n: "pageview", u, d: (await test.makeSite()).domain }).expect(202);
      const acceptedIn = (metrics: string) =>
        Number(/waymark_accepted_total\{kind="event",.*\} (\d+)/.exec(metrics)?.[1]);
      const acceptedBefore = acceptedIn(await test.registry.metrics());
      expect(acceptedBefore).toBeGreaterThan(0);
      const bot = { "User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)" };
      const cases = [
        ["unknown-domain", await test.post({ n: "pageview", u, d: "unknown.example" })],
        ["bot", await test.post({ n: "pageview", u, d: domain }, bot)],
        ["referrer-spam", await test.post({ n: "pageview", u, d: domain, r: "https://spam.example/x" })],
        ["referrer-spam", await test.post({ n: "pageview", u, d: domain, r: "http://a.b.other-spam.example" })],
        ["revenue", await test.post({ n: "buy", u, d: domain, $: { amount: "0.1234567", currency: "EUR" } })],
        ["revenue", await test.post({ n: "buy", u, d: domain, revenue: { amount: 1, currency: "eur" } })],
      ] as const;
      for (const [reason, answer] of cases) {
        expect([answer.status, answer.text, answer.headers[droppedHeader]]).toEqual([202, "ok", reason]);
      }
      expect(await test.readEvents(id)).toEqual([]);
      const metrics = await test.registry.metrics();
      expect(acceptedIn(metrics)).toBe(acceptedBefore);
      expect(metrics).toMatch(/waymark_events_dropped_total\{reason="unknown-domain",service="collector"\} 1\n/);
      expect(metrics).toMatch(/waymark_events_dropped_total\{reason="referrer-spam",service="collector"\} 2\n/);
    });

    it("does not refuse an event that one of several sites has, and names and counts what another did not get", async () => {
      const [locked, other] = [await test.makeSite(), await test.makeSite()];
      const writer = await test.pool.connect();
      await writer.query("BEGIN");
      await writer.query("SELECT pg_advisory_xact_lock(hashtextextended('waymark events ' || $1, 0))", [locked.id]);
      const beacon = { n: "pageview", u: `https://${other.domain}/`, d: `${locked.domain},${other.domain}` };
      const answer = await test.post(beacon).expect(202);
      await writer.query("ROLLBACK");
      writer.release();
      expect(answer.headers[droppedHeader]).toBe("site-refused");
      expect([(await test.readEvents(locked.id)).length, (await test.readEvents(other.id)).length]).toEqual([0, 1]);
      const metrics = await test.registry.metrics();
      expect(metrics).toMatch(/waymark_events_dropped_total\{reason="site-refused",service="collector"\} 1\n/);
    });

    it("records a referrer that only ends like a spammer's", async () => {
      const { id, domain } = await test.makeSite();
      await test.post({ n: "pageview", u: `https://${domain}/`, d: domain, r: "https://notspam.example/" }).expect(202);
      expect(await test.readEvents(id)).toMatchObject([{ source: "notspam.example" }]);
    });
  });

  describe("400", () => {
    const u = "https://a.example/";
    it.each([
      [{}, { name: "Required", url: "Required", domain: "Required" }],
      [
        { n: "", u: "", d: "" },
        { name: "Must not be empty", url: "Must not be empty", domain: "Must not be empty" },
      ],
      [
        { n: 1, u: [], d: {}, r: 7 },
        {
          name: "Must be a string, not a number",
          url: "Must be a string, not an array",
          domain: "Must be a string, not a JSON object",
          referrer: "Must be a string, not a number",
        },
      ],
      [{ n: "x".repeat(201), u, d: "a" }, { name: "Must be at most 200 bytes of UTF-8" }],
      [
        { n: "a\u0000b", u, d: "a\u0000b" },
        {
          name: "Must not contain the NUL character (U+0000)",
          domain: "Must not contain the NUL character (U+0000)",
        },
      ],
      [{ n: "x", u: "app://localhost/login", d: "a" }, { url: "Must be an http or https URL" }],
      [{ n: "x", u: "/login", d: "a" }, { url: "Must be an http or https URL" }],
      [{ n: "x", u: "javascript:alert(1)", d: "a" }, { url: "Must be an http or https URL" }],
      [{ n: "x", u: `${u}${"x".repeat(8_192)}`, d: "a" }, { url: "Must be at most 8192 characters" }],
      [{ n: "x", u, d: " , " }, { domain: "Must name 1 to 10 domains, with commas between" }],
      [{ n: "x", u, d: "a,".repeat(11) }, { domain: "Must name 1 to 10 domains, with commas between" }],
      [{ n: "x", u, d: "a".repeat(1_001) }, { domain: "Must be at most 1000 characters" }],
      [{ n: "x", u, d: "a", p: [1] }, { props: "Must be a JSON object" }],
      [{ n: "x", u, d: "a", p: "{" }, { props: "Must be a JSON object" }],
      [
        { n: "x", u, d: "a", p: { deep: { deeper: 1 } } },
        {
          "props.deep": "Must be a text, a number, true or false; lists and objects are not kept",
        },
      ],
      [{ n: "x", u, d: "a", p: { nul: "\u0000" } }, { "props.nul": "Must not contain the NUL character (U+0000)" }],
      [
        { n: "x", u, d: "a", p: '{"id":9007199254740993}' },
        { "props.id": "Must be a whole number from -9007199254740991 to 9007199254740991, or its digits as a text" },
      ],
      [{ n: "x", u, d: "a", p: { long: "x".repeat(2_001) } }, { "props.long": "Must be at most 2000 bytes of UTF-8" }],
      [
        { n: "x", u, d: "a", p: Object.fromEntries(Array.from({ length: 31 }, (_, i) => [i, i])) },
        {
          props: "Must have at most 30 properties",
        },
      ],
    ])("names the fields of %j", async (body, fields) => {
      await test.post(body).expect(400, { error: "Validation failed", fields });
    });

    it("takes what lies just within the bounds", async () => {
      const { id, domain } = await test.makeSite();
      const p = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${i}`.padEnd(200, "x"), "x".repeat(60)]));
      const u = `https://${domain}/`.padEnd(8_192, "x");
      await test.post({ n: "x".repeat(200), u, d: domain, p }).expect(202);
      const tooMuch = { ...p, [`0`.padEnd(200, "x")]: "x".repeat(1_500) };
      await test
        .post({ n: "x".repeat(200), u, d: domain, p: tooMuch })
        .expect(400, { error: "Validation failed", fields: { props: "Must be at most 8192 bytes of JSON in all" } });
      const [event] = await test.readEvents(id);
      expect(Object.keys(event?.["props"] as object)).toHaveLength(30);
      expect(String(event?.["path"])).toHaveLength(2_000);
    });

    it.each([
      ["", /empty/],
      ["{", /ends too early|breaks off/],
      ["[]", /JSON object/],
      ["null", /JSON object/],
    ])("says of the body %j what is wrong", async (body, message) => {
      const answer = await test.post(body).expect(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields: { body: expect.stringMatching(message) } });
    });
  });

  describe("405", () => {
    it.each(["put", "patch", "delete"] as const)("refuses %s and names what the path takes", async (method) => {
      const answer = await request(test.app)[method]("/api/event").expect(405);
      expect(answer.body).toEqual({ error: "Method not allowed", allowed: ["POST", "GET", "HEAD"] });
      expect(answer.headers["allow"]).toBe("POST, GET, HEAD");
    });
  });

  describe("any origin", () => {
    it("may ask first", async () => {
      const answer = await request(test.app)
        .options("/api/event")
        .set({ Origin: "https://a.example", "Access-Control-Request-Method": "POST" })
        .expect(204);
      expect(answer.headers).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET, POST",
        "access-control-allow-headers": "*",
      });
    });

    it("may read answers and errors", async () => {
      for (const body of ["{", { n: "x", u: "https://a.example", d: "unknown.example" }]) {
        const answer = await test.post(body, { Origin: "https://a.example" });
        expect(answer.headers["access-control-allow-origin"]).toBe("*");
        expect(answer.headers["access-control-expose-headers"]).toMatch(/X-Waymark-Dropped/);
      }
    });
  });
});
