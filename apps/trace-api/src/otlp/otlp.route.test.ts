import { describe, expect, it } from "@jest/globals";
import request from "supertest";
import { type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { jsonOf, readTraces, sendJson, sendOtlp, sendProtobuf } from "./otlp.fixture.js";

const start = 1_780_315_200_000_000_000n;

/** A span in OTLP/JSON: the `n`th of a trace, a root where no parent is given. */
function span(trace: string, n: number, changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    traceId: trace,
    spanId: n.toString(16).padStart(16, "0"),
    name: `step ${n}`,
    startTimeUnixNano: String(start + BigInt(n) * 1_000_000n),
    endTimeUnixNano: String(start + BigInt(n) * 1_000_000n + 500_000n),
    ...changes,
  };
}

const child = (trace: string, n: number, changes = {}) =>
  span(trace, n, { parentSpanId: "00000000000000ff", ...changes });
const root = (trace: string, changes = {}) => span(trace, 255, { name: "run", ...changes });
const traceId = (n: number) => n.toString(16).padStart(32, "a");

function body(spans: readonly unknown[], resource: Record<string, string> = { "service.name": "shop" }) {
  const attributes = Object.entries(resource).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: "test" }, spans }] }] };
}

describe("POST /v1/traces", () => {
  const test = useApp();
  const query = (text: string, values: unknown[]) => test.pool.query<{ id: string; otel: string }>(text, values);
  const read = async (account: TestAccount, trace: string) => (await readTraces(account, query)).get(trace);
  const used = async ({ id }: TestAccount) => {
    const { rows } = await test.pool.query(
      "SELECT COALESCE(sum(traces), 0)::int AS n FROM trace_usage WHERE account_id = $1",
      [id],
    );
    return rows[0].n;
  };
  const fill = ({ id }: TestAccount, traces: number) =>
    test.pool.query("INSERT INTO trace_usage (account_id, month, traces) VALUES ($1, date_trunc('month', now()), $2)", [
      id,
      traces,
    ]);

  it("counts stored traces and spans, refused and repeated ones aside", async () => {
    const account = await test.makeAccount("pro");
    const read = async () => {
      const text = await test.registry.metrics();
      return ["trace", "span"].map((kind) =>
        Number(new RegExp(`^waymark_accepted_total\\{kind="${kind}".*\\} (\\d+)$`, "m").exec(text)?.[1]),
      );
    };
    const [traces = 0, spans = 0] = await read();
    await sendJson(account, body([root(traceId(90)), child(traceId(90), 2)])).expect(200);
    expect(await read()).toEqual([traces + 1, spans + 2]);
    const once = { "Idempotency-Key": "counted" };
    const { body: made } = await account.post("/api/v1/traces", traceBody()).set(once).expect(201);
    await account.post("/api/v1/traces", traceBody()).set(once).expect(201);
    const step = { name: "step", status: "ok", started_at: "2026-06-01T12:00:00Z" };
    await account.post(`/api/v1/traces/${made.trace_id}/spans/batch`, { spans: [step, step, step] }).expect(201);
    await account.post(`/api/v1/traces/${traceId(1).slice(0, 8)}-0000-7000-8000-000000000000/spans`, step).expect(404);
    expect(await read()).toEqual([traces + 2, spans + 5]);
  });

  describe("200", () => {
    it("is found by its OpenTelemetry id, in either case, by its account alone", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const trace = traceId(91);
      await sendJson(account, body([root(trace)])).expect(200);
      const id = (await read(account, trace))?.id;
      for (const digits of [trace, trace.toUpperCase()]) {
        const found = await account.get(`/api/v1/traces/${digits}?include=labels`).expect(200);
        expect(found.body).toEqual((await account.get(`/api/v1/traces/${id}?include=labels`)).body);
        await other.get(`/api/v1/traces/${digits}`).expect(404);
      }
      await account.get(`/api/v1/traces/${traceId(92)}`).expect(404);
    });

    it("makes a running trace of children, and lets the root finish it", async () => {
      const account = await test.makeAccount("pro");
      const trace = traceId(1);
      await sendJson(account, body([child(trace, 2), child(trace, 1)])).expect(200);
      expect(await read(account, trace)).toMatchObject({
        agent_id: "shop",
        name: "step 1",
        status: "running",
        ended_at: null,
        metadata: null,
      });
      const attributes = [{ key: "gen_ai.agent.name", value: { stringValue: "clerk" } }];
      await sendJson(account, body([root(trace, { attributes })])).expect(200);
      expect(await read(account, trace)).toMatchObject({
        agent_id: "clerk",
        name: "run",
        status: "success",
        started_at: "2026-06-01T12:00:00.255Z",
        ended_at: "2026-06-01T12:00:00.255500Z",
        metadata: { otel_trace_id: trace, resource: { "service.name": "shop" } },
      });
      expect(await used(account)).toBe(1);
      const { rows } = await test.pool.query("SELECT id FROM agent WHERE account_id = $1", [account.id]);
      expect(rows).toEqual([{ id: "clerk" }]);
    });

    it("gives parents by an id that is known before they come", async () => {
      const account = await test.makeAccount("pro");
      const trace = traceId(2);
      await sendJson(account, body([child(trace, 1)])).expect(200);
      const parent = (await read(account, trace))?.spans[0]?.parent_span_id;
      await sendJson(account, body([root(trace)])).expect(200);
      const spans = (await read(account, trace))?.spans ?? [];
      expect(spans.find(({ name }) => name === "run")?.id).toBe(parent);
      expect(parent).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    it("keeps what no field has, and gives it back where it is asked for", async () => {
      const account = await test.makeAccount("pro");
      const trace = traceId(3);
      const said = {
        kind: "SPAN_KIND_CLIENT",
        traceState: "a=b",
        attributes: [
          { key: "n", value: { intValue: "9007199254740993" } },
          { key: "list", value: { arrayValue: { values: [{ boolValue: true }, {}, { bytesValue: "AAE=" }] } } },
          { key: "map", value: { kvlistValue: { values: [{ key: "x", value: { doubleValue: 0.5 } }] } } },
        ],
        events: [{ name: "retry", timeUnixNano: String(start), attributes: [] }],
        links: [{ traceId: traceId(9), spanId: "00000000000000aa" }],
      };
      await sendJson(account, body([root(trace, said)])).expect(200);
      const [stored] = (await read(account, trace))?.spans ?? [];
      expect(stored?.attributes).toMatchObject({ list: [true, null, "AAE="], map: { x: 0.5 } });
      expect(stored?.otel).toEqual({
        span_id: "00000000000000ff",
        kind: "client",
        trace_state: "a=b",
        events: [{ name: "retry", time: "2026-06-01T12:00:00.000000Z", attributes: {} }],
        links: [{ trace_id: traceId(9), span_id: "00000000000000aa", attributes: {} }],
        scope: { name: "test", version: "" },
        resource: { "service.name": "shop" },
      });
      const id = (await read(account, trace))?.id;
      const plain = await account.get(`/api/v1/traces/${id}`).expect(200);
      expect(plain.text).not.toContain("attributes");
      const full = await account.get(`/api/v1/traces/${id}?include=attributes`).expect(200);
      expect(full.text).toContain('"n":9007199254740993');
      const refused = await account.get(`/api/v1/traces/${id}?include=all`).expect(400);
      expect(refused.body.fields).toEqual({
        include: "Must be one or several of these, separated by commas: kind, attributes, usage, scores, labels",
      });
    });

    it("gives null as the attributes of spans that came without OpenTelemetry", async () => {
      const account = await test.makeAccount("pro");
      const id = await account.makeTrace();
      await account.post(`/api/v1/traces/${id}/spans`, { name: "s", status: "ok", started_at: "2026-06-01T12:00:00Z" });
      const { spans } = (await account.get(`/api/v1/traces/${id}?include=attributes`).expect(200)).body;
      expect(spans).toEqual([expect.objectContaining({ name: "s", attributes: null })]);
    });

    it("changes nothing when the same is sent again, also after a change through the API", async () => {
      const account = await test.makeAccount("pro");
      const trace = traceId(4);
      const sent = body([child(trace, 1), root(trace, { status: { code: 2, message: "broken" } })]);
      const queuedBefore = test.queued.length;
      await sendJson(account, sent).expect(200);
      const id = (await read(account, trace))?.id;
      await account.patch(`/api/v1/traces/${id}`, { status: "success" }).expect(200);
      const before = await read(account, trace);
      await sendJson(account, sent).expect(200);
      await sendJson(account, sent).expect(200);
      expect(await read(account, trace)).toEqual(before);
      expect(before?.status).toBe("success");
      expect(await used(account)).toBe(1);
      expect(test.queued.slice(queuedBefore)).toHaveLength(1);
    });

    it("adds and queues one alert for a failed root of a Pro account, none on Free", async () => {
      const [pro, free] = [await test.makeAccount("pro"), await test.makeAccount("free")];
      const trace = traceId(5);
      const failed = body([root(trace, { status: { code: 2 } })]);
      for (const account of [pro, free]) {
        await sendJson(account, body([child(trace, 1)])).expect(200);
        await Promise.all([1, 2, 3].map(() => sendJson(account, failed).expect(200)));
      }
      const alerts = "SELECT id, status, trace_id FROM alert WHERE account_id = $1";
      const { rows } = await test.pool.query(alerts, [pro.id]);
      expect(rows).toEqual([{ id: expect.any(String), status: "error", trace_id: (await read(pro, trace))?.id }]);
      expect(test.queued.filter(({ accountId }) => accountId === pro.id)).toEqual([
        { accountId: pro.id, alertId: rows[0].id },
      ]);
      expect((await test.pool.query(alerts, [free.id])).rows).toEqual([]);
    });

    it("lets the earliest of several roots decide, whichever came first", async () => {
      const trace = traceId(6);
      const roots = [root(trace), span(trace, 3, { name: "earlier" })];
      for (const order of [roots, [...roots].reverse()]) {
        const account = await test.makeAccount("pro");
        for (const each of order) await sendJson(account, body([each])).expect(200);
        expect(await read(account, trace)).toMatchObject({ name: "earlier", started_at: "2026-06-01T12:00:00.003Z" });
      }
    });

    it("stores the valid spans of a request, and counts the others", async () => {
      const account = await test.makeAccount("pro");
      const trace = traceId(7);
      const wrong = [
        { spanId: "0000000000000000" },
        { spanId: "12" },
        { spanId: "zzzzzzzzzzzzzzzz" },
        { traceId: "00000000000000000000000000000000" },
        { parentSpanId: "123" },
        { startTimeUnixNano: "-1" },
        { endTimeUnixNano: "18446744073709551616" },
        { startTimeUnixNano: "soon" },
      ];
      const sent = body([root(trace), ...wrong.map((changes, n) => child(trace, n + 1, changes))]);
      const answer = jsonOf(await sendJson(account, sent).expect(200));
      expect(answer).toEqual({
        partialSuccess: {
          rejectedSpans: String(wrong.length),
          errorMessage: expect.stringContaining("span_id must be 8 bytes"),
        },
      });
      expect((await read(account, trace))?.spans).toHaveLength(1);
    });

    it("keeps accounts apart that use the same ids of OpenTelemetry", async () => {
      const [a, b] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const trace = traceId(8);
      await sendJson(a, body([root(trace)])).expect(200);
      await sendJson(b, body([child(trace, 1)])).expect(200);
      expect(await read(a, trace)).toMatchObject({ name: "run", spans: [{ name: "run" }] });
      expect(await read(b, trace)).toMatchObject({ status: "running", spans: [{ name: "step 1" }] });
    });

    it("takes an empty request in either form", async () => {
      const account = await test.makeAccount("pro");
      await sendJson(account, "{}").expect(200);
      await sendProtobuf(account, Buffer.alloc(0)).expect(200);
      expect(await used(account)).toBe(0);
    });

    it("stores a span without name, times and end", async () => {
      const account = await test.makeAccount("pro");
      await sendJson(account, body([{ traceId: traceId(1), spanId: "000000000000000A" }])).expect(200);
      expect(await read(account, traceId(1))).toMatchObject({
        name: "unknown",
        started_at: "1970-01-01T00:00:00.000Z",
        ended_at: null,
      });
    });
  });

  describe("limits", () => {
    it("stores the 1,000th trace of a Free month and refuses the 1,001st, in one request", async () => {
      const account = await test.makeAccount("free");
      await fill(account, 998);
      const sent = body([1, 2, 3, 4].flatMap((n) => [child(traceId(n), 1), child(traceId(n), 2)]));
      const answer = jsonOf(await sendJson(account, sent).expect(200));
      expect(answer).toEqual({
        partialSuccess: { rejectedSpans: "4", errorMessage: expect.stringContaining("limit of 1000 traces a month") },
      });
      expect((await readTraces(account, query)).size).toBe(2);
      expect(await used(account)).toBe(1000);
    });

    it("answers 429 with Retry-After where all are over the month, and still takes spans of traces that exist", async () => {
      const account = await test.makeAccount("free");
      await sendJson(account, body([child(traceId(1), 1)])).expect(200);
      await test.pool.query("UPDATE trace_usage SET traces = 1000 WHERE account_id = $1", [account.id]);
      const answer = await sendJson(account, body([child(traceId(2), 1)])).expect(429);
      expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
      expect(answer.headers["ratelimit-remaining"]).toBe("0");
      expect(jsonOf(answer)).toMatchObject({
        code: 8,
        message: "Monthly trace limit reached. Upgrade to Pro.",
        limit: 1000,
        current: 1000,
      });
      await sendJson(account, body([child(traceId(1), 2)])).expect(200);
      expect((await read(account, traceId(1)))?.spans).toHaveLength(2);
    });

    it("answers 403 where a Free account's root is of a second agent, and counts nothing", async () => {
      const account = await test.makeAccount("free");
      await account.post("/api/v1/traces", traceBody({ agent_id: "shop" })).expect(201);
      const named = (name: string) => ({ attributes: [{ key: "gen_ai.agent.name", value: { stringValue: name } }] });
      const answer = await sendJson(account, body([root(traceId(1), named("other")), child(traceId(1), 1)])).expect(
        403,
      );
      expect(jsonOf(answer)).toMatchObject({
        code: 7,
        error: "Free plan limited to 1 agent",
        upgrade_url: "/dashboard/billing",
      });
      expect(await used(account)).toBe(1);
      await sendJson(account, body([root(traceId(2), named("shop"))])).expect(200);
      await sendJson(account, body([child(traceId(3), 1)])).expect(200);
      await sendJson(account, body([root(traceId(3), named("other"))])).expect(403);
      expect(await read(account, traceId(3))).toMatchObject({ status: "running" });
      const both = jsonOf(
        await sendJson(account, body([root(traceId(4), named("other")), root(traceId(5))])).expect(200),
      );
      expect(both).toMatchObject({ partialSuccess: { rejectedSpans: "1" } });
    });

    it("claims a Free account's one agent once, however many roots come at once", async () => {
      const account = await test.makeAccount("free");
      for (let n = 0; n < 10; n++) await sendJson(account, body([child(traceId(n), 1)])).expect(200);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) =>
          sendJson(account, body([root(traceId(n))], { "service.name": `agent-${n}` })),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 403)).toHaveLength(9);
      const { rows } = await test.pool.query("SELECT count(*)::int AS n FROM agent WHERE account_id = $1", [
        account.id,
      ]);
      expect(rows).toEqual([{ n: 1 }]);
    });
  });

  describe("errors", () => {
    it("answers google.rpc.Status in protobuf to protobuf", async () => {
      const account = await test.makeAccount("pro");
      const answer = await sendProtobuf(account, Buffer.from([0x0a, 0xff]))
        .expect(400)
        .expect("Content-Type", "application/x-protobuf");
      const [code, , length, ...text] = [...(answer.body as Buffer).subarray(1)];
      expect(code).toBe(3);
      expect(Buffer.from(text.slice(0, length)).toString()).toBe(
        "The body is not an ExportTraceServiceRequest in protobuf",
      );
    });

    it("answers 401 in the request's form, before it reads the body", async () => {
      for (const type of ["application/json", "application/x-protobuf"]) {
        const answer = await request(test.app)
          .post("/v1/traces")
          .type(type)
          .send("nonsense")
          .expect(401)
          .expect("Content-Type", type);
        expect(answer.headers["www-authenticate"]).toBe('Bearer realm="waymark"');
      }
    });

    it("answers 415, 405 and 404 in JSON", async () => {
      const account = await test.makeAccount("pro");
      const type = jsonOf(await sendOtlp(account, Buffer.from("{}"), "text/plain").expect(415));
      expect(type).toMatchObject({ code: 3, allowed: ["application/x-protobuf", "application/json"] });
      const method = await account.get("/v1/traces").expect(405);
      expect(method.headers["allow"]).toBe("POST");
      expect(method.body).toMatchObject({ error: "Method not allowed" });
      await request(test.app).get("/v1/traces").expect(405);
      await account.post("/v1/profiles", {}).expect(404);
    });

    it.each([
      "nonsense",
      "[]",
      "1",
      "null",
      '{"resourceSpans":{}}',
      '{"resourceSpans":[[]]}',
      '{"resourceSpans":[{"resource":1}]}',
      "\u0000",
    ])("answers 400 to the JSON %j", async (json) => {
      const account = await test.makeAccount("pro");
      expect(jsonOf(await sendJson(account, json).expect(400))).toMatchObject({ code: 3, error: "Validation failed" });
    });

    it("holds the limit of a body against what comes out of gzip", async () => {
      const account = await test.makeAccount("pro");
      const bomb = Buffer.alloc(5 * 1_048_576);
      const answer = await sendOtlp(account, bomb, "application/x-protobuf", { encoding: "gzip" }).expect(413);
      expect(answer.headers["content-type"]).toBe("application/x-protobuf");
      await sendOtlp(account, bomb, "application/x-protobuf").expect(413);
    });

    it("bounds how deeply values nest, in both forms", async () => {
      const account = await test.makeAccount("pro");
      const nest = (depth: number) => {
        let value: Record<string, unknown> = { stringValue: "deep" };
        for (let n = 0; n < depth; n++) value = { kvlistValue: { values: [{ key: "k", value }] } };
        return body([root(traceId(depth), { attributes: [{ key: "a", value }] })]);
      };
      await sendJson(account, nest(200)).expect(200);
      await sendJson(account, nest(201)).expect(400);
      await sendJson(account, `{"x":${"[".repeat(100_000)}`).expect(400);
      await sendProtobuf(account, nestedProtobuf(200)).expect(200);
      await sendProtobuf(account, nestedProtobuf(5_000)).expect(400);
    });

    it("refuses a request with more in it than its size lets expect", async () => {
      const account = await test.makeAccount("pro");
      const emptySpans = Buffer.from(Array.from({ length: 500_000 }, () => [0x12, 0]).flat());
      await sendProtobuf(account, wrap(0x0a, wrap(0x12, emptySpans))).expect(400);
      const spans = `[${"{},".repeat(1_000_000)}{}]`;
      await sendJson(account, `{"resourceSpans":[{"scopeSpans":[{"spans":${spans}}]}]}`).expect(400);
    });
  });

  it("names its route in the metrics", async () => {
    const account = await test.makeAccount("pro");
    await sendJson(account, "{}").expect(200);
    expect(await test.registry.metrics()).toContain('route="/v1/traces",status="200"');
  });
});

/** A message or string as a field: its tag, its length, itself. */
function wrap(tag: number, inner: Buffer): Buffer {
  const length: number[] = [];
  let rest = inner.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([tag, ...length, rest]), inner]);
}

/** A request with one span, whose attribute has this many levels of lists in lists. */
function nestedProtobuf(levels: number): Buffer {
  const key = wrap(0x0a, Buffer.from("k"));
  let value: Buffer = wrap(0x0a, Buffer.from("deep"));
  for (let n = 0; n < levels; n++) value = wrap(0x32, wrap(0x0a, Buffer.concat([key, wrap(0x12, value)])));
  const attribute = wrap(0x4a, Buffer.concat([key, wrap(0x12, value)]));
  const ids = Buffer.concat([wrap(0x0a, Buffer.alloc(16, 1)), wrap(0x12, Buffer.alloc(8, 1))]);
  return wrap(0x0a, wrap(0x12, wrap(0x12, Buffer.concat([ids, attribute]))));
}
