import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { firefox, useApp } from "../app.fixture.js";

describe("GET /api/event", () => {
  const test = useApp({ trustedProxies: ["loopback"], eventsPerSecond: { perAddress: 2 } });
  let addresses = 0;

  const ask = (domain: string, ip = `198.51.100.${++addresses}`, userAgent = firefox) =>
    request(test.app)
      .get("/api/event")
      .query({ domain })
      .set({ "User-Agent": userAgent, "X-Forwarded-For": ip, Origin: "https://a.example" });
  const tokenOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked).expect(200)).body.visit;

  async function makeSite() {
    const site = await test.makeSite();
    await test.pool.query("UPDATE site SET costs_until = '2026-01-01' WHERE id = $1", [site.id]);
    return site;
  }

  it("200: gives a token to any origin, the same for a visitor and another for everybody and everything else", async () => {
    const [{ domain }, other] = [await makeSite(), await makeSite()];
    const answer = await ask(domain, "192.0.2.1").expect(200);
    expect(answer.headers).toMatchObject({ "cache-control": "no-store", "access-control-allow-origin": "*" });
    const { visit } = answer.body;
    expect(answer.body).toEqual({ visit: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(await tokenOf(`www.${domain}`, "192.0.2.1")).toBe(visit);
    const others = [
      await tokenOf(other.domain, "192.0.2.4"),
      await tokenOf(domain, "192.0.2.2"),
      await tokenOf(domain, "192.0.2.3", `${firefox} x`),
    ];
    expect(new Set([visit, ...others]).size).toBe(4);
    expect((await test.pool.query("SELECT FROM event")).rowCount).toBe(0);
  });

  it("200: gives none for a site that does not want it, an unknown domain, and a bot; of several the first that does", async () => {
    const [off, on] = [await test.makeSite(), await makeSite()];
    expect(await tokenOf(off.domain)).toBeNull();
    expect(await tokenOf("unknown.example")).toBeNull();
    expect(await tokenOf(on.domain, "192.0.2.9", "curl/8.0")).toBeNull();
    const ip = "192.0.2.10";
    expect(await tokenOf(`${off.domain},${on.domain}`, ip)).toBe(await tokenOf(on.domain, ip));
  });

  it("400: names the parameter", async () => {
    for (const domain of ["", ",", Array(11).fill("a.example").join(",")]) {
      expect((await ask(domain).expect(400)).body.fields).toEqual({ domain: expect.any(String) });
    }
    const answer = await request(test.app).get("/api/event").set("X-Forwarded-For", "192.0.2.11").expect(400);
    expect(answer.body.fields).toEqual({ domain: "Required" });
  });

  it("429: counts as an event of the address", async () => {
    const { domain } = await makeSite();
    for (let n = 0; n < 20; n++) await ask(domain, "203.0.113.1").expect(200);
    const { body, headers } = await ask(domain, "203.0.113.1").expect(429);
    expect(body).toMatchObject({ error: "Rate limit exceeded", limit: 2 });
    expect(headers["retry-after"]).toBeDefined();
  });
});
