import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { loadOtlpMessages } from "@waymark/traces/otlp";
import request from "supertest";
import { type TestAccount, useApp } from "../app.fixture.js";
import { jsonOf, keyValues, logRecord, logsOf, readTraces, sendJson, sendLogs, sendOtlp } from "./otlp.fixture.js";

const messages = loadOtlpMessages("logs");
const start = 1_780_315_200_000_000_000n;
const at = (micros: number) => String(start + BigInt(micros) * 1_000n);
const hex = (bytes: number) => randomBytes(bytes).toString("hex");

/** A root span of a model call, and what makes log records of it. */
function makeRun(members: object = {}) {
  const ids = { traceId: hex(16), spanId: hex(8) };
  const span = { ...ids, name: "chat gpt-4o", startTimeUnixNano: at(0), endTimeUnixNano: at(9), ...members };
  return {
    ids,
    resourceSpans: [
      { resource: { attributes: keyValues({ "service.name": "shop" }) }, scopeSpans: [{ spans: [span] }] },
    ],
    log: (micros: number, record: Parameters<typeof logRecord>[0]) =>
      logRecord({ ...ids, timeUnixNano: at(micros), ...record }),
  };
}

describe("POST /v1/logs", () => {
  const test = useApp();
  const spanOf = async (account: TestAccount) => {
    const traces = await readTraces(account, (text, values) => test.pool.query(text, values));
    return [...traces.values()][0]?.spans[0] as unknown as {
      input: unknown;
      output: unknown;
      error: string | null;
      otel: { logs?: Record<string, unknown>[] };
    };
  };
  const waiting = async ({ id }: TestAccount) =>
    (await test.pool.query("SELECT count(*)::int AS n FROM span_log WHERE account_id = $1 AND NOT is_used", [id]))
      .rows[0].n;

  describe("200", () => {
    it.each(["before", "after"])("makes messages sent %s their span its input and output", async (when) => {
      const account = await test.makeAccount("free");
      const { resourceSpans, log } = makeRun();
      const records = [
        log(3, {
          eventName: "gen_ai.choice",
          body: { index: 0, finish_reason: "stop", message: { role: "assistant", content: "12 EUR" } },
        }),
        log(2, { attributes: { "event.name": "gen_ai.user.message" }, body: { content: "What do I owe?" } }),
        log(1, {
          eventName: "gen_ai.system.message",
          body: { content: "Be brief" },
          attributes: { "gen_ai.system": "openai" },
        }),
      ];
      const steps = [() => sendLogs(account, records), () => sendJson(account, { resourceSpans })];
      for (const send of when === "before" ? steps : steps.toReversed())
        expect(jsonOf(await send().expect(200))).toEqual({});
      expect(await spanOf(account)).toMatchObject({
        input: [
          { role: "system", content: "Be brief" },
          { role: "user", content: "What do I owe?" },
        ],
        output: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "12 EUR" } }],
      });
      expect((await spanOf(account)).otel.logs).toBeUndefined();
      expect(await waiting(account)).toBe(0);
    });

    it("reads a details event with its tokens, in protobuf and gzip, and keeps what the span says itself", async () => {
      const account = await test.makeAccount("pro");
      const { resourceSpans, log } = makeRun({ attributes: keyValues({ "gen_ai.output.messages": '["own"]' }) });
      const details = log(5, {
        eventName: "gen_ai.client.inference.operation.details",
        attributes: {
          "gen_ai.input.messages": [{ role: "user", parts: [{ type: "text", content: "Hello" }] }],
          "gen_ai.output.messages": [{ role: "assistant", parts: [] }],
          "gen_ai.provider.name": "openai",
          "gen_ai.request.model": "gpt-4o",
          "gen_ai.usage.input_tokens": 1_000,
          "gen_ai.usage.output_tokens": 100,
        },
      });
      const bytes = Buffer.from(
        messages.request.encode(messages.request.fromObject(asProtobuf(logsOf([details])))).finish(),
      );
      const options = { path: "/v1/logs", encoding: "gzip" } as const;
      await sendOtlp(account, bytes, "application/x-protobuf", options).expect(200);
      await sendJson(account, { resourceSpans }).expect(200);
      expect(await spanOf(account)).toMatchObject({
        input: [{ role: "user", parts: [{ type: "text", content: "Hello" }] }],
        output: ["own"],
        otel: { logs: [{ attributes: { "gen_ai.usage.input_tokens": 1_000 } }] },
      });
      const { body } = await account.get("/api/v1/traces").expect(200);
      const trace = await account.get(`/api/v1/traces/${body.traces[0].id}?include=usage`).expect(200);
      expect(trace.body.usage).toMatchObject({ input_tokens: 1_000, output_tokens: 100, cost_usd: "0.0035" });
    });

    it.each([
      { status: { code: 2 }, error: "It broke" },
      { status: { code: 2, message: "Own words" }, error: "Own words" },
      { status: { code: 1 }, error: null },
    ])("makes an exception the error of a failed span without one: $status, $error", async ({ status, error }) => {
      const account = await test.makeAccount("pro");
      const { resourceSpans, log } = makeRun({ status });
      const exception = { "exception.type": "Oops", "exception.message": "It broke" };
      await sendJson(account, { resourceSpans }).expect(200);
      const sent = log(1, { eventName: "exception", attributes: exception, severityText: "ERROR" });
      for (let n = 0; n < 2; n++) await sendLogs(account, [sent]).expect(200);
      const span = await spanOf(account);
      expect(span.error).toBe(error);
      expect(span.otel.logs).toMatchObject([{ name: "exception", severity: "ERROR", attributes: exception }]);
    });

    it("keeps other records in order with their span, and refuses those that name none", async () => {
      const account = await test.makeAccount("pro");
      const { resourceSpans, log } = makeRun();
      await sendJson(account, { resourceSpans }).expect(200);
      const bare = logRecord({ timeUnixNano: at(1), body: "nobody's" });
      const answer = await sendLogs(account, [
        log(2, { body: "second" }),
        bare,
        log(1, { body: { first: true } }),
      ]).expect(200);
      expect(jsonOf(answer)).toEqual({
        partialSuccess: {
          rejectedLogRecords: "1",
          errorMessage:
            "Log records were refused: 1: a log record is kept with its span, and must name it by trace_id and span_id",
        },
      });
      expect((await spanOf(account)).otel.logs).toEqual([
        { name: "log", time: "2026-06-01T12:00:00.000001Z", attributes: {}, body: { first: true } },
        { name: "log", time: "2026-06-01T12:00:00.000002Z", attributes: {}, body: "second" },
      ]);
    });

    it("leaves another account's span of the same ids alone", async () => {
      const [account, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const { resourceSpans, log } = makeRun();
      await sendJson(account, { resourceSpans }).expect(200);
      const before = await spanOf(account);
      await sendLogs(other, [log(1, { eventName: "gen_ai.user.message", body: { content: "mine" } })]).expect(200);
      expect(await spanOf(account)).toEqual(before);
      expect([await waiting(account), await waiting(other)]).toEqual([0, 1]);
    });

    it("drops the records of a deleted trace, and those stored before go with it", async () => {
      const account = await test.makeAccount("pro");
      const { resourceSpans, log } = makeRun();
      await sendJson(account, { resourceSpans }).expect(200);
      await sendLogs(account, [log(1, { body: "before" })]).expect(200);
      const { body } = await account.get("/api/v1/traces").expect(200);
      await account.delete(`/api/v1/traces/${body.traces[0].id}`).expect(200);
      await sendLogs(account, [log(1, { body: "after" })]).expect(200);
      const { rows } = await test.pool.query("SELECT 1 FROM span_log WHERE account_id = $1", [account.id]);
      expect(rows).toEqual([]);
    });

    it("takes 1,000 records of a span, and refuses further ones with a sentence", async () => {
      const account = await test.makeAccount("pro");
      const { log } = makeRun();
      const lines = Array.from({ length: 1_001 }, (_, n) => log(n, { body: n }));
      await sendLogs(account, lines.slice(0, 1_000)).expect(200, Buffer.from("{}"));
      const { partialSuccess } = jsonOf(await sendLogs(account, lines).expect(200));
      expect(partialSuccess).toMatchObject({
        rejectedLogRecords: "1",
        errorMessage: expect.stringContaining("1 of spans that would have more than 1000 log records"),
      });
    });

    it("lets 10,000 records wait for their spans, and contents in a share of their own", async () => {
      const account = await test.makeAccount("pro");
      await test.pool.query(
        `INSERT INTO span_log (account_id, otel_trace_id, span_id, id, nanos, place, name, has_content, event, bytes)
         SELECT $1, decode(repeat('01', 16), 'hex'), int8send(n), gen_random_uuid(), n, 1, 'log', false, '{}', 300
         FROM generate_series(1, 9999) AS n`,
        [account.id],
      );
      const runs = [makeRun(), makeRun(), makeRun()] as const;
      await sendLogs(account, [runs[0].log(1, { body: "the last" })]).expect(200, Buffer.from("{}"));
      const content = runs[2].log(1, { eventName: "gen_ai.user.message", body: { content: "hello" } });
      const answer = await sendLogs(account, [runs[1].log(1, { body: "one more" }), content]).expect(200);
      expect(jsonOf(answer)["partialSuccess"]).toMatchObject({
        rejectedLogRecords: "1",
        errorMessage: expect.stringContaining("1 while 10000 log records"),
      });
      expect(await waiting(account)).toBe(10_001);
    });
  });

  it("answers 400 to a body that is no request, and 401 without a key", async () => {
    const account = await test.makeAccount("pro");
    const wrong = Buffer.from('{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":7}]}]}]}');
    const answer = await sendOtlp(account, wrong, "application/json", { path: "/v1/logs" }).expect(400);
    expect(jsonOf(answer)).toMatchObject({ code: 3, message: "body must be a JSON object" });
    await sendOtlp(account, Buffer.from([255]), "application/x-protobuf", { path: "/v1/logs" }).expect(400);
    await request(test.app).post("/v1/logs").send({}).expect(401);
  });
});

/** Ids as bytes, as protobuf has them. */
function asProtobuf(json: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(json), (key, value) =>
    key === "traceId" || key === "spanId" ? Buffer.from(value, "hex").toString("base64") : value,
  );
}
