import { readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { createApiKey, createKeyDirectory } from "@waymark/auth";
import { createPool, createUuidV7 } from "@waymark/database";
import { createLogger, createRegistry } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import request from "supertest";
import { spanBody, traceBody, useApp } from "../app.fixture.js";
import { createApp } from "../app.js";
import { createAnswerBudget } from "../limits/budgets.js";
import { ByteReserve } from "../usage/byte-reserve.js";

const fixture = (name: string) => readFileSync(new URL(`../../fixtures/${name}`, import.meta.url), "utf8");

/** Finds duplicate names, references to nothing and values without a type: they break tools for OpenAPI. */
function checkDocument(document: {
  paths: Record<string, Record<string, { operationId: string; parameters: { name: string; schema: object }[] }>>;
}): void {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, ...operation })),
  );
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, parameters } of operations) {
    for (const [, name] of path.matchAll(/\{(\w+)\}/g)) expect(parameters.map((each) => each.name)).toContain(name);
    for (const { schema } of parameters) expect(Object.keys(schema)).toContain("type");
  }
  const text = JSON.stringify(document);
  for (const [, pointer = ""] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    const target = pointer.split("/").reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);
    expect(target).toEqual(expect.any(Object));
  }
  expect(text).not.toMatch(/"(\$schema|x-name|x-form|x-json)"/);
}

describe("the trace service", () => {
  const test = useApp({ bodyLimitBytes: 100_000 });

  describe("without a key", () => {
    it("answers GET /health", async () => {
      const answer = await request(test.app).get("/health").expect(200);
      expect(answer.body).toEqual({ status: "ok" });
    });

    it("answers GET /ready with each store", async () => {
      await request(test.app)
        .get("/ready")
        .expect(200, { status: "ok", checks: { database: "ok" } });
    });

    it("describes itself in OpenAPI 3.1, with every status of the contract", async () => {
      const { body } = await request(test.app).get("/openapi.json").expect(200);
      expect(body.openapi).toBe("3.1.0");
      const statuses = (path: string, method: string) => Object.keys(body.paths[path][method].responses);
      expect(statuses("/api/v1/traces", "post")).toEqual(["201", "400", "401", "403", "409", "422", "429"]);
      expect(body.paths["/api/v1/traces"].post.parameters).toMatchObject([
        { name: "Idempotency-Key", in: "header", required: false, schema: { maxLength: 255 } },
      ]);
      const spans = ["201", "400", "401", "403", "404", "409", "413", "422", "429"];
      expect(statuses("/api/v1/traces/{trace_id}/spans", "post")).toEqual(spans);
      expect(statuses("/api/v1/traces/{trace_id}/spans/batch", "post")).toEqual(spans);
      const change = ["200", "400", "401", "403", "404", "429"];
      expect(statuses("/api/v1/traces/{trace_id}/spans/{span_id}", "patch")).toEqual(change);
      expect(statuses("/api/v1/traces/{trace_id}", "patch")).toEqual(["200", "400", "401", "403", "404"]);
      expect(statuses("/api/v1/traces/{trace_id}", "get")).toEqual(["200", "400", "401", "403", "404"]);
      expect(statuses("/api/v1/traces", "get")).toEqual(["200", "400", "401", "403"]);
      expect(statuses("/v1/traces", "post")).toEqual(["200", "400", "401", "403", "413", "415", "429", "503"]);
      const schemaOf = (path: string) => {
        const { schema } = body.paths[path].post.requestBody.content["application/json"];
        return body.components.schemas[schema.$ref?.split("/").at(-1)] ?? schema;
      };
      const schema = schemaOf("/api/v1/traces");
      expect(schema.required).toEqual(["agent_id", "name", "status", "started_at"]);
      const batch = schemaOf("/api/v1/traces/{trace_id}/spans/batch");
      expect(batch.required).toEqual(["spans"]);
      expect(batch.properties.spans).toMatchObject({ type: "array", minItems: 1, maxItems: 1000 });
      expect(batch.properties.spans.items).toEqual({ $ref: "#/components/schemas/BatchSpan" });
      expect(body.components.schemas.BatchSpan.required).toEqual(["name", "status", "started_at"]);
      expect(schema.properties.metadata).toMatchObject({ type: ["object", "null"] });
    });

    it("gives numbers, lists and answers in OpenAPI the types that they have", async () => {
      const { body } = await request(test.app).get("/openapi.json").expect(200);
      const parameters = new Map<string, object>(
        body.paths["/api/v1/traces"].get.parameters.map((each: { name: string }) => [each.name, each]),
      );
      const limit = { type: "integer", minimum: 1, maximum: 200, default: 50 };
      expect(parameters.get("limit")).toMatchObject({ required: false, schema: limit });
      expect(parameters.get("min_duration_ms")).toMatchObject({ schema: { type: "integer", minimum: 0 } });
      const statuses = { type: "array", items: { enum: ["running", "success", "error", "timeout"] } };
      expect(parameters.get("status")).toMatchObject({ explode: false, schema: statuses });
      expect(Object.keys(body.components.schemas).sort()).toEqual([
        ...[
          "AccountChange",
          "Agent",
          "AgentPage",
          "AgentScores",
          "AgentSeries",
          "BatchSpan",
          "Dropped",
          "Error",
          "Failure",
          "FailurePage",
          "Kept",
          "ListedTrace",
          "ModelUsage",
          "NewScore",
          "NewSpan",
          "NewTrace",
          "Session",
          "SessionPage",
          "SessionTraces",
        ],
        ...[
          "Span",
          "SpanChange",
          "Trace",
          "TraceChange",
          "TracePage",
          "TraceUsage",
          "Usage",
          "UsageBy",
          "User",
          "UserPage",
        ],
        "ValidationError",
      ]);
      const read = body.paths["/api/v1/traces/{trace_id}"].get.responses["200"].content["application/json"];
      expect(read.schema).toEqual({ $ref: "#/components/schemas/Trace" });
      expect(body.components.schemas.Trace.properties.spans.items).toEqual({ $ref: "#/components/schemas/Span" });
      expect(Object.keys(body.paths["/ready"].get.responses)).toEqual(["200", "405", "503"]);
      expect(body.paths["/ready"].get.security).toEqual([]);
      checkDocument(body);
    });

    it("answers GET / with the places to go to, as JSON or as a page", async () => {
      const places = { docs: "/docs", openapi: "/openapi.json", health: "/health", ready: "/ready" };
      const json = await request(test.app).get("/").expect(200);
      expect(json.body).toEqual({ name: "Waymark trace API", ...places });
      const page = await request(test.app).get("/").set("Accept", "text/html,*/*;q=0.8").expect(200);
      expect(page.headers).toMatchObject({ "content-type": "text/html; charset=utf-8", vary: "Accept" });
      expect(page.text).toContain('<a href="/docs">');
      await request(test.app).post("/").expect(405);
    });

    it("ends its JSON with a line feed, whole or in pieces, good or bad", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      for (const path of ["/", "/health", "/ready", "/openapi.json", "/api/v1/usage", "/api/v1/nothing"]) {
        const { text, headers } = await account.get(path);
        expect(text).toMatch(/\}\n$/);
        expect(Number(headers["content-length"])).toBe(Buffer.byteLength(text));
      }
      expect((await account.get(`/api/v1/traces/${id}`)).text).toMatch(/\]\}\n$/);
      const spans = Array.from({ length: 1_000 }, () => spanBody({ name: "x".repeat(20) }));
      for (let n = 0; n < 3; n++) await account.post(`/api/v1/traces/${id}/spans/batch`, { spans }).expect(201);
      const { text, headers } = await account.get(`/api/v1/traces/${id}`);
      expect(headers["content-length"]).toBeUndefined();
      expect(text).toMatch(/\]\}\n$/);
      expect(JSON.parse(text).spans).toHaveLength(3_000);
    });

    it("says at the dashboard's addresses what to do without one, and repeats nothing but a UUID", async () => {
      const id = "019C13F2-6C00-7CC3-98C4-DC0C0C07398F";
      const trace = await request(test.app).get(`/dashboard/traces/${id}`).expect(200);
      expect(trace.body.instead).toEqual([
        `waymark trace show ${id.toLowerCase()}`,
        `GET /api/v1/traces/${id.toLowerCase()}`,
      ]);
      const page = await request(test.app).get(`/dashboard/traces/${id}`).set("Accept", "text/html").expect(200);
      expect(page.text).toContain(`<pre>waymark trace show ${id.toLowerCase()}`);
      expect(page.headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      });
      const plan = await request(test.app).get("/dashboard/billing").expect(200);
      expect(plan.body.instead[0]).toBe("waymark account plan ACCOUNT_ID --plan pro");
      for (const path of ["/dashboard", "/dashboard/", "/dashboard/traces/<b>", "/dashboard/traces", "/dashboard/x"]) {
        await request(test.app).get(path).set("Accept", "text/html").expect(404, { error: "Not found" });
      }
      await request(test.app).post("/dashboard/billing").expect(405);
    });

    it("has a page that a person can read", async () => {
      const answer = await request(test.app).get("/docs").set("Host", "traces.example.com").expect(200);
      expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(answer.text).toContain("curl -X POST http://traces.example.com/api/v1/traces");
      expect(answer.text).toContain("<code>spans[].parent_ref</code>");
      expect(answer.text).toContain("<code>Idempotency-Key</code>");
      const secure = await request(test.app).get("/docs").set("Host", "a.example").set("X-Forwarded-Proto", "https");
      expect(secure.text).toContain("curl -X POST https://a.example/api/v1/traces");
    });
  });

  describe("401", () => {
    it("is the same for keys that are missing, malformed, unknown, revoked or of the other service", async () => {
      const revoked = await test.makeAccount("pro");
      await test.pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [revoked.id]);
      const headers = [
        undefined,
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        `Basic ${revoked.key}`,
        revoked.key,
        `Bearer ${revoked.key}`,
        `Bearer ${revoked.key}x`,
        `Bearer ${createApiKey("trace").key}`,
        `Bearer ${createApiKey("analytics").key}`,
        `Bearer ${"é".repeat(50)}`.normalize(),
      ];
      for (const header of headers) {
        const ask = request(test.app).post("/api/v1/traces");
        if (header !== undefined) ask.set("Authorization", encodeURI(header));
        const answer = await ask.send(traceBody()).expect(401);
        expect(answer.body).toEqual({ error: "Invalid API key", hint: expect.any(String), docs: "/docs" });
        expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/);
      }
    });

    it("is answered for every path and method below /api/v1, before anything else is looked at", async () => {
      await request(test.app).get("/api/v1").expect(401);
      await request(test.app).get("/api/v1/nothing").expect(401);
      await request(test.app).delete("/api/v1/traces").expect(401);
      await request(test.app).get("/API/V1/traces/x").expect(401);
      await request(test.app).post("/api/v1/traces").type("json").send("x".repeat(200_000)).expect(401);
    });

    it("follows within a second of a revocation", async () => {
      const account = await test.makeAccount("pro");
      await account.makeTrace();
      await test.pool.query("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [account.id]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await account.post("/api/v1/traces", traceBody()).expect(401);
    });
  });

  describe("404 and 405", () => {
    it("are JSON, for unknown paths and wrong methods", async () => {
      const account = await test.makeAccount("free");
      await request(test.app).get("/metrics").expect(404, { error: "Not found" });
      await account.get("/api/v1/nothing").expect(404, { error: "Not found" });
      const wrong = await account.get("/api/v1/traces/x/spans").expect(405);
      expect(wrong.body).toEqual({ error: "Method not allowed", allowed: ["POST"] });
      expect(wrong.headers["allow"]).toBe("POST");
      const trace = await account.post("/api/v1/traces/x").expect(405);
      expect(trace.headers["allow"]?.split(", ").sort()).toEqual(["DELETE", "GET", "HEAD", "PATCH"]);
      for (const path of ["/api/v1/agents", "/api/v1/usage"]) {
        const read = await account.post(path).expect(405);
        expect(read.headers["allow"]).toBe("GET, HEAD");
      }
      await request(test.app).post("/health").expect(405);
    });

    it("answers a path that cannot be decoded with 400", async () => {
      const account = await test.makeAccount("free");
      const answer = await account.get("/api/v1/traces/%ff").expect(400);
      expect(answer.body.fields.path).toBeDefined();
    });
  });

  describe("unknown query parameters", () => {
    it("are ignored by the contract's operations, and refused where one beyond the contract is used", async () => {
      const account = await test.makeAccount("pro");
      const { body } = await account.post("/api/v1/traces?agent=x", traceBody()).expect(201);
      const path = `/api/v1/traces/${body.trace_id}`;
      await account.post(`${path}/spans?x=1`, spanBody()).expect(201);
      await account.patch(`${path}?x=1`, { status: "success" }).expect(200, { ok: true });
      await account.get(`${path}?includ=attributes`).expect(200);
      const refused = await account.get(`${path}?include=attributes&spans=5`).expect(400);
      expect(refused.body.fields).toEqual({ spans: "Unknown parameter; allowed are: include, kind" });
    });

    it("are refused by operations beyond the contract, also where these have no parameters", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      const fields = { force: "Unknown parameter; there are none here" };
      const span = { spans: [spanBody()] };
      for (const refused of [
        account.get("/api/v1/usage?force=1"),
        account.delete(`/api/v1/traces/${id}?force=1`),
        account.post(`/api/v1/traces/${id}/spans/batch?force=1`, span),
        account.patch(`/api/v1/traces/${id}/spans/${id}?force=1`, {}),
      ])
        await refused.expect(400, { error: "Validation failed", fields });
      await account.get(`/api/v1/traces/${id}`).expect(200);
    });
  });

  describe("bodies", () => {
    const send = async (body: string | Buffer, type = "application/json") => {
      const account = await test.makeAccount("pro");
      return account
        .post("/api/v1/traces")
        .set("Content-Type", type)
        .serialize((x) => x)
        .send(body as string);
    };

    it.each([
      ["", /empty/],
      ["{", /JSON/],
      ['{"a":1', /JSON/],
      ["[]", /JSON object/],
      ["null", /JSON object/],
      ['"text"', /JSON object/],
      ["17", /JSON object/],
      ["{'a':1}", /JSON/],
      ["\u0000", /JSON/],
      ["[".repeat(50_000), /200 levels/],
      [`{"metadata":${'{"a":'.repeat(200)}1${"}".repeat(200)}}`, /200 levels/],
    ])("are refused with 400 and fields.body where they are no JSON object (%#)", async (body, message) => {
      const answer = await send(body);
      expect(answer.status).toBe(400);
      expect(answer.body).toEqual({ error: "Validation failed", fields: { body: expect.stringMatching(message) } });
    });

    it("may nest 200 levels", async () => {
      const deep = `${'{"a":'.repeat(199)}1${"}".repeat(199)}`;
      const body = JSON.stringify(traceBody()).replace(/}$/, `,"metadata":${deep}}`);
      expect((await send(body)).status).toBe(201);
    });

    it("are refused with 400 where they are not UTF-8", async () => {
      const answer = await send(Buffer.from(JSON.stringify(traceBody({ name: "é" })), "latin1"));
      expect(answer.status).toBe(400);
      expect(answer.body.fields).toEqual({ body: "Must be UTF-8" });
    });

    it.each(["text/plain", "application/xml", "multipart/form-data", "application/json; charset=utf-16", ""])(
      "are refused with 415 as %j",
      async (type) => {
        const answer = await send(Buffer.from(JSON.stringify(traceBody())), type);
        expect(answer.status).toBe(415);
        expect(answer.body).toEqual({ error: "Unsupported content type", allowed: ["application/json"] });
      },
    );

    it.each(["application/json", "application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"'])(
      "are taken as %s",
      async (type) => {
        expect((await send(JSON.stringify(traceBody()), type)).status).toBe(201);
      },
    );

    it("may be gzip, and count in their full size", async () => {
      const account = await test.makeAccount("pro");
      const zipped = (body: string) =>
        account
          .post("/api/v1/traces")
          .set({ "Content-Type": "application/json", "Content-Encoding": "gzip" })
          .serialize((x) => x)
          .send(gzipSync(body) as unknown as string);
      await zipped(JSON.stringify(traceBody())).expect(201);
      await zipped(JSON.stringify(traceBody({ metadata: { a: "x".repeat(200_000) } }))).expect(413);
      const broken = await account
        .post("/api/v1/traces")
        .set({ "Content-Type": "application/json", "Content-Encoding": "gzip" })
        .send("not gzip");
      expect(broken.status).toBe(400);
      const unknown = await account
        .post("/api/v1/traces")
        .set({ "Content-Type": "application/json", "Content-Encoding": "lzma" })
        .send("{}");
      expect(unknown.status).toBe(415);
    });

    it("over the limit are refused with 413, whether or not their length is announced", async () => {
      const answer = await send(JSON.stringify(traceBody({ metadata: { a: "x".repeat(100_000) } })));
      expect(answer.status).toBe(413);
      expect(answer.body).toEqual({ error: "Body too large", limit_bytes: 100_000 });
      expect(await sendChunked(10_000_000)).toBe(413);
    });

    it("at the limit are taken", async () => {
      const frame = JSON.stringify(traceBody({ metadata: { a: "" } })).length;
      const body = JSON.stringify(traceBody({ metadata: { a: "x".repeat(100_000 - frame) } }));
      expect((await send(body)).status).toBe(201);
      expect((await send(`${body} `)).status).toBe(413);
    });

    async function sendChunked(bytes: number): Promise<number | undefined> {
      const account = await test.makeAccount("pro");
      const server = createServer(test.app).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { port: number };
      const headers = { Authorization: `Bearer ${account.key}`, "Content-Type": "application/json" };
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const ask = httpRequest(
          { host: "127.0.0.1", port, path: "/api/v1/traces", method: "POST", headers },
          (answer) => {
            answer.resume().on("end", () => resolve(answer.statusCode));
          },
        );
        ask.on("error", reject);
        for (let sent = 0; sent < bytes; sent += 100_000) ask.write(Buffer.alloc(100_000, "["));
        ask.end();
      });
      server.close();
      return status;
    }
  });

  describe("hostile input", () => {
    it("answers every file of the JSON test suite with 4xx, or keeps it exactly as an input", async () => {
      const account = await test.makeAccount("pro");
      const traceId = await account.makeTrace();
      const cases = fixture("json-test-suite.ndjson").trim().split("\n");
      for (const { name, base64 } of cases.map((line): { name: string; base64: string } => JSON.parse(line))) {
        const json = Buffer.from(base64, "base64");
        const asBody = await account
          .post("/api/v1/traces")
          .type("json")
          .serialize((x) => x)
          .send(json as unknown as string);
        expect([name, asBody.status]).toEqual([name, 400]);
        const [head] = JSON.stringify(spanBody()).split(/}$/);
        const body = Buffer.concat([Buffer.from(`${head},"input":`), json, Buffer.from("}")]);
        const asInput = await account
          .post(`/api/v1/traces/${traceId}/spans`)
          .type("json")
          .serialize((x) => x)
          .send(body as unknown as string);
        if (name.startsWith("y_")) expect([name, asInput.status]).toEqual([name, 201]);
        if (name.startsWith("n_")) expect([name, asInput.status]).toEqual([name, 400]);
        expect([201, 400]).toContain(asInput.status);
        if (asInput.status === 201) {
          const { text } = await account.get(`/api/v1/traces/${traceId}`);
          expect(text).toContain(
            json
              .toString("utf8")
              .replace(/^\ufeff/, "")
              .trim(),
          );
        }
      }
      expect(cases.length).toBeGreaterThan(150);
    });

    it("keeps every naughty string in every text field, exactly", async () => {
      const account = await test.makeAccount("pro");
      const strings: string[] = JSON.parse(fixture("naughty-strings.json"));
      expect(strings.length).toBeGreaterThan(200);
      for (const text of strings) {
        const body = traceBody({ agent_id: text.slice(0, 200) || "-", name: text || "-", metadata: { [text]: text } });
        const id = await account.makeTrace(body);
        await account
          .post(`/api/v1/traces/${id}/spans`, spanBody({ error: text, parent_span_id: text, input: text }))
          .expect(201);
        const read = (await account.get(`/api/v1/traces/${id}`).expect(200)).body;
        expect(read).toMatchObject({ agent_id: body["agent_id"], name: body["name"], metadata: { [text]: text } });
        expect(read.spans).toMatchObject([{ error: text, parent_span_id: text, input: text }]);
      }
    });

    it("answers what the HTTP parser refuses with JSON too", async () => {
      const { listen } = await import("@waymark/service");
      const listening = await listen({ handler: test.app, host: "127.0.0.1", port: 0, portVariable: "PORT" });
      const raw = (text: string) =>
        new Promise<string>((resolve) => {
          const socket = connect(listening.port, "127.0.0.1", () => socket.write(text));
          let answer = "";
          socket.on("data", (chunk) => {
            answer += chunk.toString();
          });
          socket.on("close", () => resolve(answer));
        });
      expect(await raw("NONSENSE\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*{"error":"Malformed HTTP request"}$/);
      const long = `GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ${"x".repeat(40_000)}\r\n\r\n`;
      expect(await raw(long)).toMatch(/^HTTP\/1.1 431 [\s\S]*{"error":"Request headers too large"}$/);
      await listening.stop(100);
    });
  });

  describe("request ids", () => {
    it("are taken over where they are well-formed, and made otherwise", async () => {
      const given = await request(test.app).get("/health").set("X-Request-Id", "abc-123");
      expect(given.headers["x-request-id"]).toBe("abc-123");
      const made = await request(test.app).get("/nothing").set("X-Request-Id", "spaces and <tags>");
      expect(made.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    });
  });
});

describe("the trace service, when its database is down", () => {
  const url = "postgres://nobody:nothing@127.0.0.1:1/none";
  const lines: string[] = [];
  const log = createLogger({
    service: "trace-api",
    level: "warn",
    destination: { write: (line) => void lines.push(line) },
  });
  const pool = createPool({
    connectionString: url,
    maxConnections: 2,
    applicationName: "test",
    statementTimeoutMs: 1000,
  });

  it("answers 503 with Retry-After and a constant text, logs the cause, and stays alive", async () => {
    const keys = createKeyDirectory({ service: "trace", pool, connectionString: url, log });
    const app = createApp({
      pool,
      keys,
      alerts: { add: () => undefined },
      feed: { listen: () => ({ text: (async function* () {})(), end: () => undefined }), stop: () => undefined },
      answers: createAnswerBudget(createRefusals(createRegistry("trace-api"))),
      reserve: new ByteReserve(pool, log),
      checks: { required: { database: () => pool.query("SELECT 1") } },
      log,
      registry: createRegistry("trace-api"),
      rateLimitPerSecond: 2_000,
      bodyLimitBytes: 1_000,
      uuid: createUuidV7(),
      now: () => new Date(),
    });
    const answer = await request(app)
      .post("/api/v1/traces")
      .set("Authorization", `Bearer ${createApiKey("trace").key}`)
      .set("X-Request-Id", "find-me")
      .send(traceBody());
    expect(answer.status).toBe(503);
    expect(answer.body).toEqual({ error: "Service temporarily unavailable" });
    expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
    const logged = lines.map((line) => JSON.parse(line)).find((line) => line.requestId === "find-me");
    expect(logged).toMatchObject({ level: "error", err: { message: expect.stringContaining("ECONNREFUSED") } });
    await request(app).get("/health").expect(200);
    await request(app)
      .get("/ready")
      .expect(503, { error: "Not ready: database", checks: { database: "failed" } });
    await keys.stop();
    await pool.end();
  });
});
