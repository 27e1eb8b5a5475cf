import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createUuidV7 } from "@waymark/database";
import type { OutlinePage, SpanContents } from "@waymark/traces";
import type { Response } from "supertest";
import { useDashboard } from "../dashboard.fixture.js";

const dashboard = useDashboard();
const uuid = createUuidV7();

async function setUp(plan: "pro" | "free" = "pro") {
  const accountId = await dashboard.makeAccount(plan);
  return { accountId, viewer: await dashboard.signIn(accountId) };
}

async function addTrace(accountId: string): Promise<string> {
  const id = uuid();
  await dashboard.pool.query(
    `INSERT INTO trace (account_id, id, agent_id, name, status, started_at, ended_at)
     VALUES ($1, $2, 'agent', 'a trace', 'error', '2026-06-01T12:00:00Z', '2026-06-01T12:00:10.5Z')`,
    [accountId, id],
  );
  return id;
}

interface NewSpan {
  name?: string;
  status?: "ok" | "error";
  parent?: string | null;
  input?: string | null;
  attributes?: string | null;
  error?: string | null;
  endSeconds?: number | null;
}

async function addSpan(accountId: string, traceId: string, span: NewSpan = {}): Promise<string> {
  const id = uuid();
  const { name = "step", status = "ok", parent = null, input = null, attributes = null, error = null } = span;
  const ended = span.endSeconds === null ? null : new Date(Date.UTC(2026, 5, 1, 12, 0, span.endSeconds ?? 2));
  await dashboard.pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, attributes, error, parent_span_id)
     VALUES ($1, $2, $3, $4, $5, '2026-06-01T12:00:01.000250Z', $6, $7, $8, $9, $10)`,
    [accountId, traceId, id, name, status, ended, input, attributes, error, parent],
  );
  return id;
}

/** The bytes of an answer, for supertest. */
function bytesOf(response: Response, done: (error: Error | null, body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("end", () => done(null, Buffer.concat(chunks)));
}

describe("GET /traces/:id/outline", () => {
  it("answers columns without contents, and the first failing span of the mail", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const outer = await addSpan(accountId, traceId, { name: "outer", status: "error" });
    const attributes = '{"attributes":{"gen_ai.operation.name":"chat"}}';
    const inner = await addSpan(accountId, traceId, {
      name: "inner",
      status: "error",
      parent: outer.toUpperCase(),
      input: "1.10",
      error: "x".repeat(300),
      attributes,
    });
    const orphan = await addSpan(accountId, traceId, { name: "inner", parent: 'else"\\where', endSeconds: null });
    const { body } = await viewer.get(`/traces/${traceId}/outline`).expect(200);
    expect(body).toEqual({
      trace: {
        id: traceId,
        agent_id: "agent",
        name: "a trace",
        status: "error",
        started_at: "2026-06-01T12:00:00.000Z",
        ended_at: "2026-06-01T12:00:10.500Z",
        spans: 3,
        errors: 2,
        first_failed: inner,
        session_id: null,
        user_id: null,
        environment: null,
        release: null,
        tags: [],
      },
      at: expect.any(String),
      id: [outer, inner, orphan],
      parent: [null, outer.toUpperCase(), 'else"\\where'],
      names: ["outer", "inner"],
      name: [0, 1, 1],
      kinds: ["other", "model"],
      kind: [0, 1, 0],
      start: [1_000_250, 1_000_250, 1_000_250],
      duration: [999_750, 999_750, null],
      flags: [1, 27, 0],
      errors: { 1: "x".repeat(200) },
      next: null,
    });
  });

  it("answers the spans after an id, and certain spans anew", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const [first, second, third] = [
      await addSpan(accountId, traceId),
      await addSpan(accountId, traceId),
      await addSpan(accountId, traceId),
    ];
    const { body } = await viewer.get(`/traces/${traceId}/outline?after=${second}&ids=${first},${third}`).expect(200);
    expect((body as OutlinePage).id).toEqual([first, third]);
    expect((body as OutlinePage).start).toHaveLength(2);
    expect((body as OutlinePage).trace).not.toHaveProperty("spans");
  });

  it("answers models and equal numbers for equal contents with include=digests", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const ids: string[] = [];
    for (const input of ['{"a": 1}', '{"a": 1}', '{"a":1}', null])
      ids.push(await addSpan(accountId, traceId, { input }));
    await dashboard.pool.query(
      "INSERT INTO model_call (account_id, trace_id, span_id, started_at, model) VALUES ($1, $2, $3, now(), 'gpt-4o')",
      [accountId, traceId, ids[1]],
    );
    const path = `/traces/${traceId}/outline?include=digests`;
    const { body } = await viewer.get(path).expect(200);
    const [first, same, other, none] = body.input;
    expect([Number.isSafeInteger(first), same === first, other === first, none]).toEqual([true, true, false, null]);
    expect(body.output).toEqual([null, null, null, null]);
    expect(body.model.map((number: number) => body.models[number])).toEqual(["", "gpt-4o", "", ""]);
    const { body: later } = await viewer.get(`${path}&after=${ids[1]}&ids=${ids[0]}`).expect(200);
    expect([later.id, later.input]).toEqual([
      [ids[0], ids[2], ids[3]],
      [first, other, null],
    ]);
    await viewer.get(`/traces/${traceId}/outline?include=all`).expect(400);
  });

  it("numbers contents of 16 MB of a page, and leaves the others unread", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const input = JSON.stringify(randomBytes(3_000_000).toString("base64"));
    for (let n = 0; n < 5; n++) await addSpan(accountId, traceId, { input });
    const { body } = await viewer.get(`/traces/${traceId}/outline?include=digests`).expect(200);
    expect(body.input).toEqual([...Array(4).fill(body.input[0]), null]);
  });

  it("answers pages of 5,000, compressed", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    await dashboard.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
       SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid, 's', 'ok', '2026-06-01T12:00:01Z' FROM generate_series(1, 5001) n`,
      [accountId, traceId],
    );
    const first = await viewer.get(`/traces/${traceId}/outline`).set("Accept-Encoding", "gzip").expect(200);
    expect(first.headers["content-encoding"]).toBe("gzip");
    const page: OutlinePage = first.body;
    expect(page.id).toHaveLength(5_000);
    expect(page.trace.spans).toBe(5_001);
    const { body } = await viewer.get(`/traces/${traceId}/outline?after=${page.next}`).expect(200);
    expect((body as OutlinePage).id).toHaveLength(1);
    expect((body as OutlinePage).next).toBeNull();
    await dashboard.pool.query("DELETE FROM span WHERE id = lpad(to_hex(5001), 32, '0')::uuid");
    const { body: whole } = await viewer.get(`/traces/${traceId}/outline`).expect(200);
    expect((whole as OutlinePage).id).toHaveLength(5_000);
    expect((whole as OutlinePage).next).toBeNull();
  });

  it("answers 404 for another account's trace and a malformed id", async () => {
    const { accountId } = await setUp();
    const { viewer } = await setUp();
    const traceId = await addTrace(accountId);
    await addSpan(accountId, traceId);
    await viewer.get(`/traces/${traceId}/outline`).expect(404);
    await viewer.get("/traces/none/outline").expect(404);
    await viewer.get(`/traces/${traceId}/outline?after=x`).expect(400);
  });
});

describe("GET /traces/:id/spans/:span_id", () => {
  it("answers contents as they were sent", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const input = '{"a": 12345678901234567890,  "a":1.10, "n":"\\u0000"}';
    const spanId = await addSpan(accountId, traceId, { input, error: "it broke" });
    const { body } = await viewer.get(`/traces/${traceId}/spans/${spanId}`).expect(200);
    const nothing = { output: null, attributes: null };
    expect(body).toEqual({ id: spanId, input, error: "it broke", ...nothing, cut: {} } satisfies SpanContents);
  });

  it("cuts contents over 5 MB", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const spanId = await addSpan(accountId, traceId, { input: `"${"x".repeat(5_000_000)}"` });
    const { body } = await viewer.get(`/traces/${traceId}/spans/${spanId}`).expect(200);
    expect((body as SpanContents).input).toHaveLength(100_000);
    expect((body as SpanContents).cut).toEqual({ input: 5_000_002 });
  });

  it("answers 404 for another account's span", async () => {
    const { accountId } = await setUp();
    const { viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const spanId = await addSpan(accountId, traceId);
    await viewer.get(`/traces/${traceId}/spans/${spanId}`).expect(404);
    await viewer.get(`/traces/${traceId}/spans/none`).expect(404);
  });
});

describe("GET /traces/:id/spans/:span_id/:content", () => {
  it("answers the stored bytes of one part as a download, however large", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const input = `{"n": 1.10,  "n":"${"ü".repeat(3_000_000)}"}`;
    const spanId = await addSpan(accountId, traceId, { input, error: "it broke" });
    const path = `/traces/${traceId}/spans/${spanId}`;
    const { body, headers } = await viewer.get(`${path}/input`).buffer(true).parse(bytesOf).expect(200);
    expect((body as Buffer).equals(Buffer.from(input))).toBe(true);
    expect(headers["content-disposition"]).toBe(`attachment; filename="span-${spanId}-input.json"`);
    const { text } = await viewer
      .get(`${path}/error`)
      .expect(200)
      .expect("Content-Type", /^text\/plain/);
    expect(text).toBe("it broke");
  });

  it("answers 404 for another account's span, for nothing sent and for other words", async () => {
    const { accountId, viewer: owner } = await setUp();
    const { viewer } = await setUp();
    const traceId = await addTrace(accountId);
    const path = `/traces/${traceId}/spans/${await addSpan(accountId, traceId, { input: "1" })}`;
    await owner.get(`${path}/input`).expect(200, "1");
    await viewer.get(`${path}/input`).expect(404);
    await owner.get(`${path}/output`).expect(404);
    await owner.get(`${path}/name`).expect(404);
    await owner.get(`/traces/${traceId}/spans/none/input`).expect(404);
  });
});

describe("GET /traces/:id/export", () => {
  it("answers the API's text as a download", async () => {
    const { accountId, viewer } = await setUp();
    const traceId = await addTrace(accountId);
    await addSpan(accountId, traceId, { input: "12345678901234567890" });
    const { text, headers } = await viewer.get(`/traces/${traceId}/export`).expect(200);
    expect(headers["content-disposition"]).toBe(`attachment; filename="trace-${traceId}.json"`);
    expect(text).toContain('"input":12345678901234567890');
  });

  it("answers 404 for another account's trace", async () => {
    const { accountId } = await setUp();
    const { viewer } = await setUp();
    await viewer.get(`/traces/${await addTrace(accountId)}/export`).expect(404);
  });
});
