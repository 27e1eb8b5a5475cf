import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { type StatEntry, useApp } from "../app.fixture.js";

const now = new Date("2026-03-15T10:00:00Z");
const today = "2026-03-15";

describe("GET /api/v1/sites/:id/stats as CSV", () => {
  const test = useApp();
  const makeSite = async (entries: StatEntry[] = []) => {
    test.setNow(now);
    const account = await test.makeAccount();
    const siteId = await account.makeSite();
    await test.addStats(siteId, entries);
    const get = (query: string, accept = "text/csv") =>
      account.get(`/api/v1/sites/${siteId}/stats?${query}`).set("Accept", accept);
    return { account, siteId, get };
  };

  describe("200", () => {
    it.each([
      ["topPages", "page", '"path","visitors","pageviews"', '"x",2,5'],
      ["topReferrers", "source", '"source","visitors"', '"x",2'],
      ["topCountries", "country", '"country","visitors"', '"x",2'],
      ["channels", "channel", '"channel","visitors","pageviews"', '"x",2,5'],
      ["browsers", "browser", '"browser","visitors","pageviews"', '"x",2,5'],
      ["operatingSystems", "os", '"os","visitors","pageviews"', '"x",2,5'],
      ["devices", "device", '"device","visitors","pageviews"', '"x",2,5'],
      ["entryPages", "entry", '"path","visitors"', '"x",2'],
      ["utmSources", "utm_source", '"source","visitors","pageviews"', '"x",2,5'],
      ["utmMediums", "utm_medium", '"medium","visitors","pageviews"', '"x",2,5'],
      ["utmCampaigns", "utm_campaign", '"campaign","visitors","pageviews"', '"x",2,5'],
      ["exitPages", "exit", '"path","visitors"', '"x",2'],
      ["hosts", "host", '"host","visitors","pageviews"', '"x",2,5'],
      [
        "browsers&metrics=visits,events",
        "browser",
        '"browser","visitors","pageviews","visits","events"',
        '"x",2,5,0,0',
      ],
    ])("of %s: a header row and the list's rows, each ended by CRLF", async (list, dimension, header, row) => {
      const { get } = await makeSite([[dimension, today, "x", 2, 5]]);
      const answer = await get(`lists=${list}`).expect(200);
      expect(answer.text).toBe(`${header}\r\n${row}\r\n`);
      expect(answer.headers).toMatchObject({
        "content-type": "text/csv; charset=utf-8; header=present",
        vary: "Accept",
        "cache-control": "no-store",
        "ratelimit-limit": "60",
      });
    });

    it("has the header alone where the list is empty", async () => {
      const { get } = await makeSite();
      expect((await get("lists=browsers").expect(200)).text).toBe('"browser","visitors","pageviews"\r\n');
    });

    it("keeps range, order, limit and the row (other) as JSON does", async () => {
      const { get } = await makeSite([
        ["page", today, "(other)", 50, 60],
        ["page", today, "/a", 1, 1],
        ["page", today, "/b", 2, 2],
        ["page", today, "/c", 3, 3],
        ["page", "2026-03-14", "/a", 9, 9],
      ]);
      const { text } = await get("lists=topPages&range=today&limit=2").expect(200);
      expect(text).toBe('"path","visitors","pageviews"\r\n"/c",3,3\r\n"/b",2,2\r\n"(other)",50,60\r\n');
      const custom = await get("lists=topPages&from=2026-03-14&to=2026-03-14").expect(200);
      expect(custom.text).toBe('"path","visitors","pageviews"\r\n"/a",9,9\r\n');
    });

    it("writes values so that they are one cell and no formula", async () => {
      const { get } = await makeSite([["utm_campaign", today, "=1+1", 1, 2]]);
      const { text } = await get("lists=utmCampaigns").expect(200);
      expect(text).toBe(`"campaign","visitors","pageviews"\r\n"'=1+1",1,2\r\n`);
    });
  });

  describe("the choice between JSON and CSV", () => {
    it.each([
      ["text/csv", true],
      ["TEXT/CSV", true],
      ["text/csv; charset=utf-8", true],
      ["text/csv;header=present;charset=utf-8", true],
      ["text/*", true],
      ["text/csv, application/json", true],
      ["application/json;q=0.5, text/csv", true],
      ["text/csv;q=0.9, */*;q=0.1", true],
      ["application/json, text/csv", false],
      ["application/json; charset=utf-8, text/csv;q=0.5", false],
      ["text/csv;q=0.5, application/json", false],
      ["text/csv;q=0, */*", false],
      ["*/*", false],
      ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false],
      ["application/json, text/plain, */*", false],
      ["image/png", false],
      ["nonsense", false],
      ["", false],
    ])("for Accept: %s", async (accept, isCsv) => {
      const { get } = await makeSite();
      const answer = await get("lists=browsers", accept).expect(200);
      expect(answer.headers["content-type"]).toMatch(isCsv ? /^text\/csv;/ : /^application\/json;/);
      expect(answer.headers["vary"]).toBe("Accept");
    });

    it("is JSON without Accept, and exists for statistics alone", async () => {
      const { account, siteId } = await makeSite();
      const plain = await account.get(`/api/v1/sites/${siteId}/stats`).unset("Accept").expect(200);
      expect([plain.type, plain.headers["vary"]]).toEqual(["application/json", "Accept"]);
      for (const path of [`/${siteId}/events`, `/${siteId}/realtime`, ""]) {
        const answer = await account.get(`/api/v1/sites${path}`).set("Accept", "text/csv").expect(200);
        expect([answer.type, answer.headers["vary"]]).toEqual(["application/json", undefined]);
      }
    });

    it("is the same for HEAD", async () => {
      const { account, siteId } = await makeSite();
      const answer = await request(test.app)
        .head(`/api/v1/sites/${siteId}/stats?lists=devices`)
        .set({ Authorization: `Bearer ${account.key}`, Accept: "text/csv" })
        .expect(200);
      expect(answer.type).toBe("text/csv");
    });
  });

  describe("400, as JSON", () => {
    const one = "Must name exactly one list for text/csv";
    it.each([
      ["", { lists: one }],
      ["lists=browsers,devices", { lists: one }],
      ["lists=browsers&interval=day", { interval: "Must not be given for text/csv" }],
      ["lists=browsers&compare=previous", { compare: "Must not be given for text/csv" }],
      ["range=1d", { range: "Must be one of: today, 7d, 30d" }],
    ])("for %j, before ownership", async (query, fields) => {
      const { account, get } = await makeSite();
      await get(query).expect(400, { error: "Validation failed", fields });
      await account
        .get(`/api/v1/sites/unknown/stats?${query}`)
        .set("Accept", "text/csv")
        .expect(400, { error: "Validation failed", fields });
    });
  });

  describe("401, 403 and 404, as JSON", () => {
    it("answers errors as everywhere", async () => {
      const { siteId, account } = await makeSite();
      const [other, free] = [await test.makeAccount(), await test.makeAccount("free")];
      const path = `/api/v1/sites/${siteId}/stats?lists=browsers`;
      const refused = await request(test.app).get(path).set("Accept", "text/csv").expect(401);
      expect(refused.body.error).toBe("Invalid API key");
      const plan = await free.get(path).set("Accept", "text/csv").expect(403);
      expect(plan.body.upgrade_url).toBe("/dashboard/billing");
      await other.get(path).set("Accept", "text/csv").expect(404, { error: "Site not found" });
      await account.get(path).set("Accept", "text/csv").expect(200);
    });
  });
});
