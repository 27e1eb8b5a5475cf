import { describe, expect, it } from "@jest/globals";
import { createPool } from "@waymark/database";
import { createRegistry } from "@waymark/service";
import { lintOpenApi } from "@waymark/testing";
import { openCountryDirectory } from "@waymark/web-stats/analytics";
import { pino } from "pino";
import request, { type Response } from "supertest";
import { firefox, openApp, useApp } from "./app.fixture.js";

describe("the collector", () => {
  const test = useApp();
  const lines: string[] = [];
  const watched = useApp({ log: pino({ level: "warn" }, { write: (line: string) => void lines.push(line) }) });

  it("answers /health, /ready, /openapi.json and /docs", async () => {
    await request(test.app).get("/health").expect(200, { status: "ok" });
    await request(test.app)
      .get("/ready")
      .expect(200, { status: "ok", checks: { database: "ok" } });
    const { body } = await request(test.app).get("/openapi.json").expect(200);
    expect(await lintOpenApi(body)).toEqual([]);
    expect(Object.keys(body.paths)).toEqual([
      "/api/event",
      "/js/script.js",
      "/js/script.{extensions}.js",
      "/api/requests",
      "/health",
      "/ready",
    ]);
    expect(body.security).toBeUndefined();
    expect(body.paths["/api/event"].post.security).toEqual([]);
    expect(body.paths["/api/requests"].post.security).toEqual([{ apiKey: ["ingest"] }]);
    const { requestBody, responses } = body.paths["/api/event"].post;
    const { schema } = requestBody.content["application/json"];
    expect(schema.required).toEqual(["name", "url", "domain"]);
    expect(Object.keys(schema.properties)).toEqual([
      "name",
      "url",
      "domain",
      "referrer",
      "props",
      "h",
      "interactive",
      "revenue",
      "e",
      "sd",
    ]);
    expect(Object.keys(responses)).toEqual(["202", "400", "413", "429", "503"]);
    const docs = await request(test.app).get("/docs").expect(200).expect("Content-Type", /html/);
    expect(docs.text).toContain("Authorization");
  });

  it("notes on /ready, and warns once, that a proxy outside TRUSTED_PROXIES stands before it", async () => {
    const ready = async () => (await request(watched.app).get("/ready").expect(200)).body;
    const send = (forwarded: Record<string, string>) => watched.post({ n: "x", u: "https://a.b", d: "a.b" }, forwarded);
    await send({});
    expect(await ready()).toEqual({ status: "ok", checks: { database: "ok" } });
    for (let n = 0; n < 3; n++) await send({ "X-Forwarded-For": "192.0.2.1" });
    const note =
      "X-Forwarded-For came from an address outside TRUSTED_PROXIES: limits count all clients of that proxy as one";
    expect(await ready()).toEqual({ status: "ok", checks: { database: "ok" }, notes: [note] });
    expect(lines.filter((line) => line.includes("TRUSTED_PROXIES"))).toHaveLength(1);
  });

  it("answers GET / with the places to go to", async () => {
    const { body } = await request(test.app).get("/").expect(200);
    expect(body).toMatchObject({ name: "Waymark collector", docs: "/docs", health: "/health" });
  });

  it("answers 404 in JSON to what it has not", async () => {
    for (const path of ["/dashboard/billing", "/api", "/api/event/x", "/metrics", "/api/v1/sites"]) {
      await request(test.app).get(path).expect(404, { error: "Not found" });
    }
  });
});

describe("the example of /docs", () => {
  const test = useApp();

  it("is recorded when it is pasted", async () => {
    const { id } = await test.makeSite();
    await test.pool.query("UPDATE site SET domain = 'example.com' WHERE id = $1", [id]);
    const { text } = await request(test.app).get("/docs").expect(200);
    const pasted = text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
    const [, method, path, words = ""] =
      /curl -X (POST) http:\/\/[^/]+(\/api\/event)((?:.|\n)*?)<\/pre>/.exec(pasted) ?? [];
    expect([method, path]).toEqual(["POST", "/api/event"]);
    const headers = [...words.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, value]) => [name, value]);
    const body = /-d '([^']+)'/.exec(words)?.[1];
    const answer = await request(test.app).post("/api/event").set(Object.fromEntries(headers)).send(body).expect(202);
    expect(answer.headers).not.toHaveProperty("x-waymark-dropped");
    expect(await test.readEvents(id)).toMatchObject([{ name: "signup", props: { plan: "pro" } }]);
  });
});

describe("when too many events wait", () => {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const test = useApp({ maxWaiting: 1, log });

  it("answers 503 and when to come back, counts that, logs no error, and recovers", async () => {
    const { id, domain } = await test.makeSite();
    const event = { n: "pageview", u: `https://${domain}/`, d: domain };
    await test.post(event).expect(202);
    // One event waits for the table, so there is no capacity for the others.
    const blocker = await test.pool.connect();
    await blocker.query("BEGIN");
    await blocker.query("LOCK TABLE event IN SHARE MODE");
    const refused: Response[] = [];
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const answer = await test.post(event);
        if (answer.status === 503 && refused.push(answer) === 49) {
          await blocker.query("ROLLBACK");
          blocker.release();
        }
        return answer;
      }),
    );
    for (const { headers, body } of refused) {
      expect(body).toEqual({
        error: "Service temporarily unavailable",
        reason: "Too many events wait to be written",
      });
      expect(Number(headers["retry-after"])).toBeGreaterThanOrEqual(1);
    }
    await test.post(event).expect(202);
    expect(lines).toEqual([]);
    expect(await test.registry.metrics()).toMatch(
      new RegExp(`waymark_refused_total\\{limit="waiting_events",scope="service".*\\} ${refused.length}`),
    );
    const written = answers.filter(({ status }) => status === 202).length + 2;
    expect(await test.readEvents(id)).toHaveLength(written);
  });
});

describe("while the database cannot be reached", () => {
  it("answers 503 and when to come back, and is not ready", async () => {
    // Nothing listens on port 1, so connecting fails at once.
    const connectionString = "postgres://waymark:waymark@127.0.0.1:1/waymark";
    const pool = createPool({
      connectionString,
      maxConnections: 1,
      applicationName: "test",
      statementTimeoutMs: 1_000,
    });
    const countries = await openCountryDirectory(undefined);
    const parts = {
      countries,
      isSpam: () => false,
      trustedProxies: [],
      countryHeader: undefined,
      maxWaiting: undefined,
    };
    const app = openApp(pool, createRegistry("collector"), parts);
    const answer = await request(app)
      .post("/api/event")
      .set("User-Agent", firefox)
      .send({ name: "pageview", url: "https://a.example/", domain: "a.example" })
      .expect(503, { error: "Service temporarily unavailable" });
    expect(Number(answer.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    await request(app).get("/health").expect(200);
    await request(app).get("/ready").expect(503);
    await pool.end();
  });
});
