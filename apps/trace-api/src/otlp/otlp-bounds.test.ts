import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, it } from "@jest/globals";
import { type TestAccount, useApp } from "../app.fixture.js";
import { type ServiceProcess, startService } from "../service.fixture.js";
import { maxContextsPerTrace } from "./add-spans.query.js";
import { jsonOf, readTraces, sendJson, sendOtlp, sendProtobuf } from "./otlp.fixture.js";

const kib = 1_024;
const hex = (n: number, digits: number) => n.toString(16).padStart(digits, "0");
const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const resourceOf = (bytes: number, service = "shop", filler = "x".repeat(bytes)) => ({
  attributes: [attribute("service.name", service), attribute("filler", filler)],
});

interface SpanOptions {
  trace?: number;
  parent?: boolean;
  attributes?: object[];
}

let nextSpan = 1;
const spanOf = ({ trace = 1, parent = false, attributes = [] }: SpanOptions = {}) => ({
  traceId: hex(trace, 32),
  spanId: hex(nextSpan++, 16),
  ...(parent && { parentSpanId: "f".repeat(16) }),
  name: "step",
  startTimeUnixNano: "1795271640000000000",
  endTimeUnixNano: "1795271641000000000",
  attributes,
});

const requestOf = (resource: object, spans: object[], scope?: object) => ({
  resourceSpans: [{ resource, scopeSpans: [{ ...(scope && { scope }), spans }] }],
});

describe("what the spans of an OpenTelemetry request share", () => {
  const test = useApp();
  let service: ServiceProcess | undefined;
  afterAll(() => service?.end("SIGKILL"));

  const sizeOf = async (table: string) => {
    const { rows } = await test.pool.query(`SELECT pg_total_relation_size($1)::int AS bytes`, [table]);
    return rows[0].bytes as number;
  };
  const read = async (account: TestAccount) => [
    ...(await readTraces(account, (text, values) => test.pool.query(text, values))).values(),
  ];

  it("is stored once for a trace, and the table of spans grows by less than what was sent", async () => {
    const account = await test.makeAccount("pro");
    const before = await sizeOf("span");
    const scope = { name: "s", version: "1" };
    const filler = randomBytes(30 * kib).toString("hex");
    const spans = Array.from({ length: 300 }, () => spanOf({ parent: true }));
    const body = requestOf(resourceOf(0, "shop", filler), spans, scope);
    const text = JSON.stringify(body);
    await sendOtlp(account, Buffer.from(text), "application/json", { encoding: "gzip" }).expect(200);
    expect((await sizeOf("span")) - before).toBeLessThan(text.length * 2);
    const { rows } = await test.pool.query("SELECT bytes FROM trace_context WHERE account_id = $1 ORDER BY bytes", [
      account.id,
    ]);
    expect(rows).toEqual([{ bytes: 26 }, { bytes: expect.any(Number) }]);
    const [trace] = await read(account);
    expect(trace?.spans).toHaveLength(300);
    for (const { otel } of trace?.spans ?? []) {
      expect(Object.keys(otel ?? {})).toEqual(["span_id", "scope", "resource"]);
      expect(otel).toMatchObject({ scope, resource: { "service.name": "shop", filler } });
    }
    await account.delete(`/api/v1/traces/${trace?.id}`).expect(200);
    const { rowCount } = await test.pool.query("SELECT FROM trace_context WHERE account_id = $1", [account.id]);
    expect(rowCount).toBe(0);
  });

  it("is read as before from spans that hold copies of it", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const [scope, resource] = ['{"name":"ü","version":""}', '{"service.name":"shöp"}'];
    const old = `{"attributes":{"a":1},"otel":{"span_id":"01","scope":${scope},"resource":${resource}}}`;
    await test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, attributes)
       VALUES ($1, $2, gen_random_uuid(), 'old', 'ok', now(), $3)`,
      [account.id, traceId, old],
    );
    await test.pool.query(
      `INSERT INTO trace_context (account_id, trace_id, id, value, bytes) VALUES ($1, $2, -1, $3, 1), ($1, $2, 1, $4, 1)`,
      [account.id, traceId, scope, resource],
    );
    await test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, attributes, scope_id, resource_id)
       VALUES ($1, $2, gen_random_uuid(), 'new', 'ok', now(), '{"attributes":{"a":1},"otel":{"span_id":"01"}}', -1, 1)`,
      [account.id, traceId],
    );
    const { text } = await account.get(`/api/v1/traces/${traceId}?include=attributes`).expect(200);
    expect(text.split(old.slice(1))).toHaveLength(3);
  });

  it("is refused above 64 KiB of a resource and 16 KiB of a scope, and so are 1 MiB of a span beyond", async () => {
    const account = await test.makeAccount("pro");
    const [good, big] = [spanOf(), spanOf({ attributes: [attribute("a", "x".repeat(1_024 * kib))] })];
    const fits = resourceOf(65_536 - '{"service.name":"shop","filler":""}'.length);
    const { resourceSpans } = requestOf(fits, [good, big]);
    const answer = await sendJson(account, {
      resourceSpans: [
        ...resourceSpans,
        ...requestOf(resourceOf(64 * kib), [spanOf(), spanOf()]).resourceSpans,
        ...requestOf(resourceOf(1), [spanOf()], { name: "x".repeat(16 * kib) }).resourceSpans,
      ],
    }).expect(200);
    const { rejectedSpans, errorMessage } = jsonOf(answer)["partialSuccess"] as Record<string, string>;
    expect(rejectedSpans).toBe("4");
    expect(errorMessage).toMatch(/2 invalid: the attributes of a resource must not take more than 65536 bytes as JSON/);
    expect(errorMessage).toMatch(/1 invalid: a scope must not take more than 16384 bytes as JSON/);
    expect(errorMessage).toMatch(/1 invalid: attributes, events and links of a span .* 1048576 bytes as JSON/);
    const { error, message } = jsonOf(await sendJson(account, requestOf(resourceOf(64 * kib), [spanOf()])).expect(400));
    expect({ error, message }).toEqual({
      error: "Validation failed",
      message: "No span is valid: the attributes of a resource must not take more than 65536 bytes as JSON",
    });
    expect((await read(account)).map(({ spans }) => spans.length)).toEqual([1]);
  });

  it("is stored for so many traces of a request as 16 MiB hold, and no span of the others is", async () => {
    const account = await test.makeAccount("pro");
    const spans = Array.from({ length: 300 }, (_, n) => spanOf({ trace: 1_000 + n }));
    const { partialSuccess } = jsonOf(await sendJson(account, requestOf(resourceOf(64_000), spans)).expect(200)) as {
      partialSuccess: Record<string, string>;
    };
    const { rows } = await test.pool.query(
      "SELECT count(*)::int AS traces, sum(bytes)::int AS bytes FROM trace_context WHERE account_id = $1",
      [account.id],
    );
    expect(rows[0].bytes).toBeLessThanOrEqual(16 * kib * kib);
    expect(rows[0].traces).toBe(300 - Number(partialSuccess["rejectedSpans"]));
    expect(rows[0].traces).toBeGreaterThan(250);
    expect(partialSuccess["errorMessage"]).toContain("must not take more than 16777216 bytes of a request");
  });

  it("is of 30,000 spans at most, and the others are refused", async () => {
    const account = await test.makeAccount("pro");
    const spans = Array.from({ length: 30_002 }, (_, n) => ({ traceId: hex(1, 32), spanId: hex(n + 1, 16) }));
    const { partialSuccess } = jsonOf(await sendJson(account, requestOf(resourceOf(1), spans)).expect(200)) as {
      partialSuccess: Record<string, string>;
    };
    expect(partialSuccess).toEqual({
      rejectedSpans: "2",
      errorMessage: "Spans were refused: 2 invalid: a request must not have more than 30000 spans",
    });
  });

  it("may come with links that name nothing, in protobuf", async () => {
    const account = await test.makeAccount("pro");
    const span = Buffer.from(`0a10${"01".repeat(16)}1208${"02".repeat(8)}6a00`, "hex");
    const nested = (body: Buffer, field: string) =>
      Buffer.concat([Buffer.from(field, "hex"), Buffer.of(body.length), body]);
    await sendProtobuf(account, nested(nested(nested(span, "12"), "12"), "0a")).expect(200);
    const [trace] = await read(account);
    expect(trace?.spans[0]?.otel?.["links"]).toEqual([{ trace_id: "", span_id: "", attributes: {} }]);
  });

  it("has at most 1,000 resources and scopes of a trace", async () => {
    const account = await test.makeAccount("pro");
    const many = Array.from({ length: 1_100 }, (_, n) => {
      return requestOf(resourceOf(1, `service ${n}`), [spanOf({ parent: true })]).resourceSpans;
    });
    const send = (parts: typeof many) => sendJson(account, { resourceSpans: parts.flat() });
    await send(many.slice(0, 500)).expect(200);
    await send(many.slice(500, 1_000)).expect(200);
    const { message } = jsonOf(await send(many.slice(1_000)).expect(400));
    expect(message).toBe(
      `No span is valid: a trace must not have more than ${maxContextsPerTrace} resources and scopes`,
    );
    // Contexts it has already are still accepted.
    await send([requestOf(resourceOf(1, "service 7"), [spanOf({ parent: true })]).resourceSpans]).expect(200);
    const [trace] = await read(account);
    expect(trace?.spans).toHaveLength(1_001);
  });

  it("has no room for a span beyond 100,000 of a trace", async () => {
    const account = await test.makeAccount("pro");
    await sendJson(account, requestOf(resourceOf(1), [spanOf({ trace: 7 })])).expect(200);
    await test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
       SELECT account_id, id, gen_random_uuid(), 's', 'ok', now() FROM trace, generate_series(1, 99999) WHERE account_id = $1`,
      [account.id],
    );
    const there = (await test.startInstance())(account);
    const full = await sendJson(there, requestOf(resourceOf(1), [spanOf({ trace: 7 })])).expect(413);
    expect(jsonOf(full)).toMatchObject({ error: "Trace has too many spans", limit: 100_000 });
    const part = await sendJson(there, requestOf(resourceOf(1), [spanOf({ trace: 7 }), spanOf({ trace: 8 })])).expect(
      200,
    );
    expect(jsonOf(part)).toEqual({
      partialSuccess: {
        rejectedSpans: "1",
        errorMessage: "Spans were refused: 1 of traces that have 100000 spans already",
      },
    });
  });

  it.each([
    [1_024, 4_000],
    [256, 2_000],
    [60, 4_000],
  ])("does not fill the memory: a resource of %i KiB and %i spans", async (resourceKib, count) => {
    service ??= await startService({ databaseUrl: test.databaseUrl, nodeFlags: ["--max-old-space-size=192"] });
    const account = await test.makeAccount("pro");
    const spans = Array.from({ length: count }, (_, n) => spanOf({ trace: 5_000 + (n % 100), parent: true }));
    const body = JSON.stringify(requestOf(resourceOf(resourceKib * kib), spans));
    const answer = await fetch(`http://127.0.0.1:${service.port}/v1/traces`, {
      method: "POST",
      headers: { Authorization: `Bearer ${account.key}`, "Content-Type": "application/json" },
      body,
    });
    expect(answer.status).toBe(resourceKib > 64 ? 400 : 200);
    const metrics = await (await fetch(`http://127.0.0.1:${service.metricsPort}/metrics`)).text();
    const peak = Number(/^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)$/m.exec(metrics)?.[1]);
    expect(peak).toBeLessThan(384 * kib * kib);
  });
});

describe("a request that is larger than its account's share of what may wait", () => {
  const test = useApp({ bodyLimitBytes: 16 * kib * kib });

  it("is stored, in portions that fit", async () => {
    const account = await test.makeAccount("pro");
    const text = "x".repeat(5 * kib);
    const ofOneTrace = Array.from({ length: 2_000 }, () => spanOf({ attributes: [attribute("a", text)] }));
    expect(jsonOf(await sendJson(account, requestOf(resourceOf(1), ofOneTrace)).expect(200))).toEqual({});
    const { rows } = await test.pool.query("SELECT count(*)::int AS spans FROM span WHERE account_id = $1", [
      account.id,
    ]);
    expect(rows).toEqual([{ spans: 2_000 }]);
  });
});
