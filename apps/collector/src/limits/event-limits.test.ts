import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import request from "supertest";
import { firefox, useApp } from "../app.fixture.js";

describe("429", () => {
  const trustedProxies = ["loopback"];
  const test = useApp({ trustedProxies, eventsPerSecond: { perAddress: 1 } });
  const from = (ip: string) => ({ "X-Forwarded-For": ip });
  const post = (domain: string, ip: string, more: object = {}) =>
    test.post({ n: "x", u: `https://${domain}/`, d: domain, ...more }, from(ip));

  it("refuses an address above its rate with when to come back, whatever it sends, and no other address", async () => {
    const { id, domain } = await test.makeSite();
    const answers = await Promise.all(Array.from({ length: 30 }, () => post(domain, "192.0.2.1")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 429]));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(10);
    for (const { body, headers } of refused) {
      const reason = "An address may send 1 events a second; bodies count once for each 4 KiB";
      expect(body).toEqual({ error: "Rate limit exceeded", limit: 1, retry_after: 1, reason });
      expect(headers).toMatchObject({ "retry-after": "1", "access-control-allow-origin": "*" });
    }
    await test.post("{", from("192.0.2.1")).expect(429);
    await post(domain, "192.0.2.2").expect(202);
    await request(test.app).get("/js/script.js").set(from("192.0.2.1")).expect(200);
    expect(await test.readEvents(id)).toHaveLength(31 - refused.length);
    expect(await test.registry.metrics()).toMatch(
      /waymark_refused_total\{limit="address_events",scope="account".*\} \d/,
    );
  });

  it("takes addresses of one IPv6 network of 64 bits for one", async () => {
    const { domain } = await test.makeSite();
    const send = (n: number) => post(domain, `2001:db8:0:1::${n.toString(16)}`);
    const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => send(n)));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(10);
    await post(domain, "2001:db8:0:2::1").expect(202);
  });

  it("counts a body once for each 4 KiB, and each domain that it names", async () => {
    const { domain } = await test.makeSite();
    await post(domain, "192.0.2.3", { ignored: "x".repeat(60_000) }).expect(202);
    await post(domain, "192.0.2.3").expect(429);
    const d = Array.from({ length: 10 }, (_, n) => `${n}.${domain}`).join(",");
    for (let n = 0; n < 2; n++) await post(domain, "192.0.2.4", { d: `${d}` });
    await post(domain, "192.0.2.4").expect(429);
  });
});

describe("a site above its rate", () => {
  const test = useApp({ eventsPerSecond: { perSite: 1 } });

  it("is refused with 429, and another site is not", async () => {
    const [busy, other] = [await test.makeSite(), await test.makeSite()];
    const event = (domain: string) => ({ n: "x", u: `https://${domain}/`, d: domain });
    const answers = await Promise.all(Array.from({ length: 30 }, () => test.post(event(busy.domain))));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused[0]?.body).toMatchObject({
      limit: 1,
      reason: "A site takes 1 events a second; bodies count once for each 4 KiB",
    });
    await test.post(event(other.domain)).expect(202);
    expect(await test.readEvents(busy.id)).toHaveLength(30 - refused.length);
    // An unrecorded event costs the site nothing.
    await test.post(event(busy.domain), { "User-Agent": "curl/8" }).expect("X-Waymark-Dropped", "bot");
  });
});

describe("bodies that do not end", () => {
  const test = useApp({ trustedProxies: ["loopback"] });
  const server = createServer((incoming, outgoing) => test.app(incoming, outgoing));
  const sockets: Socket[] = [];
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });

  it("of one address hold 4 MiB, then it gets 429, and other addresses go on", async () => {
    const { domain } = await test.makeSite();
    const { port } = server.address() as AddressInfo;
    const statuses: string[] = [];
    const begin = async (n: number) => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      sockets.push(socket);
      socket.on("data", (chunk) => void statuses.push(/^HTTP\/1.1 (\d+)/.exec(String(chunk))?.[1] ?? ""));
      const head = `POST /api/event HTTP/1.1\r\nHost: a\r\nUser-Agent: ${firefox}\r\nX-Forwarded-For: 192.0.2.1\r\nContent-Length: 60001\r\n\r\n`;
      await new Promise((resolve) => socket.write(head + "x".repeat(60_000), resolve));
      return n;
    };
    await Promise.all(Array.from({ length: 100 }, (_, n) => begin(n)));
    for (let n = 0; n < 400 && statuses.length < 30; n++) await new Promise((resolve) => setTimeout(resolve, 25));
    // 69 bodies of 60,000 bytes, with the cost of their chunks, fit into 4 MiB.
    expect(statuses.length).toBeGreaterThanOrEqual(30);
    expect(new Set(statuses)).toEqual(new Set(["429"]));
    await request(server)
      .post("/api/event")
      .set({ "User-Agent": firefox, "X-Forwarded-For": "192.0.2.2" })
      .send(JSON.stringify({ n: "x", u: `https://${domain}/`, d: domain }))
      .expect(202);
  });
});
