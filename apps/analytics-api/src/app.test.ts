import { describe, expect, it } from "@jest/globals";
import { createApiKey } from "@waymark/auth";
import { lintOpenApi } from "@waymark/testing";
import request from "supertest";
import { useApp } from "./app.fixture.js";

const nowhere = "00000000-0000-7000-8000-000000000000";

describe("the statistics service", () => {
  const test = useApp();
  const limitHeaders = {
    "ratelimit-limit": "60",
    "ratelimit-remaining": expect.stringMatching(/^\d+$/),
    "ratelimit-reset": expect.stringMatching(/^\d+$/),
  };

  describe("without a key", () => {
    it("answers /health, /ready, /openapi.json and /docs", async () => {
      await request(test.app).get("/health").expect(200, { status: "ok" });
      await request(test.app)
        .get("/ready")
        .expect(200, { status: "ok", checks: { database: "ok", limiter: "ok" } });
      const { body } = await request(test.app).get("/openapi.json").expect(200);
      expect(await lintOpenApi(body)).toEqual([]);
      expect(Object.keys(body.paths)).toEqual([
        "/api/v1/sites",
        "/api/v1/sites/{id}/stats",
        "/api/v1/sites/{id}/events",
        "/api/v1/sites/{id}/ai",
        "/api/v1/sites/{id}/realtime",
        "/api/v1/sites/{id}/goals",
        "/api/v1/sites/{id}/funnels",
        "/api/v1/sites/{id}/funnels/{funnelId}",
        "/mcp",
        "/health",
        "/ready",
      ]);
      const { parameters, responses } = body.paths["/api/v1/sites/{id}/stats"].get;
      expect(parameters[1]).toMatchObject({
        name: "range",
        in: "query",
        schema: { enum: ["today", "7d", "30d"], default: "7d" },
      });
      expect(Object.keys(responses)).toEqual(["200", "400", "401", "403", "404", "429"]);
      const byName = new Map<string, object>(parameters.map((each: { name: string }) => [each.name, each]));
      expect(byName.get("limit")).toMatchObject({
        schema: { type: "integer", minimum: 1, maximum: 1_000, default: 10 },
      });
      expect(byName.get("lists")).toMatchObject({ explode: false, schema: { type: "array" } });
      expect(Object.keys(body.components.schemas).sort()).toEqual([
        ...["Ai", "Error", "Events", "Funnel", "Funnels", "Goals", "Site", "Stats", "ValidationError"],
      ]);
      expect(parameters.map(({ name }: { name: string }) => name)).toEqual([
        ...["id", "range", "from", "to", "limit", "lists", "metrics", "filters", "interval", "compare"],
      ]);
      const { content, headers } = responses["200"];
      expect(content["text/csv"].example).toBe('"path","visitors","pageviews"\r\n"/",213,260\r\n');
      expect(headers["Vary"]).toEqual({ schema: { type: "string" } });
      const docs = await request(test.app).get("/docs").expect(200).expect("Content-Type", /html/);
      expect(docs.text).toContain("text/csv\n\n&#34;path&#34;");
    });

    it("answers GET / with the places to go to, and the dashboard's addresses with what to do without one", async () => {
      const { body } = await request(test.app).get("/").expect(200);
      expect(body).toMatchObject({ name: "Waymark analytics API", docs: "/docs", openapi: "/openapi.json" });
      const plan = await request(test.app).get("/dashboard/billing").set("Accept", "text/html").expect(200);
      expect(plan.text).toContain("waymark account plan ACCOUNT_ID --plan pro");
      await request(test.app).get("/dashboard/traces/019c13f2-6c00-7cc3-98c4-dc0c0c07398f").expect(200);
      await request(test.app).get("/dashboard").expect(404, { error: "Not found" });
    });

    it("answers 401 to everything below /api/v1, for missing, malformed, unknown, revoked and other-service keys", async () => {
      const revoked = await test.makeAccount();
      await test.pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [revoked.id]);
      const keys = [
        undefined,
        "",
        "x",
        revoked.key,
        `${revoked.key}x`,
        createApiKey("analytics").key,
        createApiKey("trace").key,
      ];
      for (const key of keys) {
        const ask = request(test.app).get("/api/v1/sites");
        if (key !== undefined) ask.set("Authorization", `Bearer ${key}`);
        const answer = await ask.expect(401);
        expect(answer.body).toEqual({ error: "Invalid API key", hint: expect.any(String), docs: "/docs" });
        expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/);
        expect(answer.headers["ratelimit-limit"]).toBeUndefined();
      }
      await request(test.app).get("/api/v1/nothing").expect(401);
      await request(test.app).post("/api/v1/sites").expect(401);
    });
  });

  describe("403", () => {
    it("refuses Free accounts with upgrade guidance, before anything is looked at", async () => {
      const account = await test.makeAccount("free");
      const siteId = await account.makeSite();
      for (const path of [
        "/api/v1/sites",
        `/api/v1/sites/${siteId}/stats`,
        "/api/v1/sites/x/events?range=bad",
        "/api/v1/none",
      ]) {
        const answer = await account.get(path).expect(403);
        expect(answer.body).toEqual({
          error: expect.stringMatching(/^The API requires a Pro plan/),
          upgrade_url: "/dashboard/billing",
        });
        expect(answer.headers).toMatchObject(limitHeaders);
      }
    });

    it("ends with an upgrade, and begins with a downgrade, while the service runs", async () => {
      const account = await test.makeAccount("free");
      const until = async (status: number) => {
        // Fewer questions than a key has in a minute.
        for (let n = 0; n < 25 && (await account.get("/api/v1/sites")).status !== status; n++) {
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
        await account.get("/api/v1/sites").expect(status);
      };
      await account.get("/api/v1/sites").expect(403);
      await test.pool.query("UPDATE account SET plan = 'pro' WHERE id = $1", [account.id]);
      await until(200);
      await test.pool.query("UPDATE account SET plan = 'free' WHERE id = $1", [account.id]);
      await until(403);
    });
  });

  describe("unknown query parameters", () => {
    it("are ignored where a request has nothing beyond the contract", async () => {
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      await account.get("/api/v1/sites?range=7d").expect(200);
      for (const path of ["stats?rang=30d", "stats?range=today&x=1", "events?x=1"]) {
        await account.get(`/api/v1/sites/${siteId}/${path}`).expect(200);
      }
    });

    it.each([
      ["stats?limit=5&rang=30d", "rang", "did you mean range?"],
      ["stats?lists=browsers&list=devices", "list", "did you mean lists?"],
      ["events?from=2026-01-01&to=2026-01-02&limit=5", "limit", "allowed are: range, from, to, filters"],
      ["realtime?range=today", "range", "allowed are: filters"],
    ])("are refused in an extension: %s", async (path, name, sentence) => {
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      const { body } = await account.get(`/api/v1/sites/${siteId}/${path}`).expect(400);
      expect(body).toEqual({ error: "Validation failed", fields: { [name]: `Unknown parameter; ${sentence}` } });
    });
  });

  describe("400 and 404", () => {
    it.each(["stats", "events"])("of %s: the range first, then the site", async (what) => {
      const account = await test.makeAccount();
      const siteId = await account.makeSite();
      for (const query of [
        "range=1d",
        "range=",
        "range=TODAY",
        "range=7d&range=30d",
        "range[]=7d&range=x",
        "range=30d%20",
      ]) {
        for (const site of [siteId, "unknown"]) {
          const answer = await account.get(`/api/v1/sites/${site}/${what}?${query}`).expect(400);
          expect(answer.body).toEqual({
            error: "Validation failed",
            fields: { range: "Must be one of: today, 7d, 30d" },
          });
          expect(answer.headers).toMatchObject(limitHeaders);
        }
      }
    });

    it.each(["stats", "events", "realtime"])(
      "of %s: unknown sites, malformed ids and other accounts' sites are the same 404",
      async (what) => {
        const [account, other] = [await test.makeAccount(), await test.makeAccount()];
        const foreign = await other.makeSite();
        for (const site of ["unknown", nowhere, foreign, "%00"]) {
          const answer = await account.get(`/api/v1/sites/${site}/${what}`).expect(404);
          expect(answer.body).toEqual({ error: "Site not found" });
          expect(answer.headers).toMatchObject(limitHeaders);
        }
        await other.get(`/api/v1/sites/${foreign}/${what}`).expect(200);
      },
    );

    it("answers unknown paths and wrong methods with JSON", async () => {
      const account = await test.makeAccount();
      const unknown = await account.get("/api/v1/sites/x").expect(404, { error: "Not found" });
      expect(unknown.headers).toMatchObject(limitHeaders);
      const wrong = await request(test.app)
        .delete("/api/v1/sites")
        .set("Authorization", `Bearer ${account.key}`)
        .expect(405);
      expect(wrong.headers).toMatchObject({ allow: "GET, HEAD", ...limitHeaders });
      await request(test.app).get("/nothing").expect(404, { error: "Not found" });
    });
  });

  describe("GET /api/v1/sites", () => {
    it("lists the account's sites with id, domain and name, and nobody else's", async () => {
      const [account, other] = [await test.makeAccount(), await test.makeAccount()];
      await other.makeSite();
      await account.get("/api/v1/sites").expect(200, { sites: [] });
      const first = await account.makeSite([], "a.example");
      const second = await account.makeSite([], "b.example");
      const answer = await account.get("/api/v1/sites").expect(200);
      expect(answer.body).toEqual({
        sites: [
          { id: first, domain: "a.example", name: "The a.example" },
          { id: second, domain: "b.example", name: "The b.example" },
        ],
      });
      expect(answer.headers).toMatchObject(limitHeaders);
    });
  });
});
