import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { useApp } from "../app.fixture.js";
import { jsonOf, readFixture, readRecordings, readTraces, sendJson, sendOtlp, sendProtobuf } from "./otlp.fixture.js";

const recordings = readRecordings();
const naughtyStrings: string[] = JSON.parse(
  readFileSync(new URL("../../fixtures/naughty-strings.json", import.meta.url), "utf8"),
);

/** The only possible statuses of hostile input: success, or an error of the client. */
const expected = [200, 400, 413];

/** Requests of fluent-bit's tests: it refuses them, Waymark takes them, since nothing in them contradicts OTLP. */
const taken = new Set([
  "resourceSpans_missing",
  "scopeSpans_missing",
  "event_missing_name",
  "link_invalid_span_id",
  "link_span_id_zero_length",
  "link_span_id_invalid_hex",
  "link_span_id_odd_length",
]);

describe("POST /v1/traces with hostile requests", () => {
  const test = useApp();

  it("answers protobuf that is cut off or altered, and never by a fault of ours", async () => {
    const account = await test.makeAccount("pro");
    const source = fc.constantFrom(...recordings.map(({ protobuf }) => protobuf));
    const change = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(source, fc.array(change, { maxLength: 20 }), fc.nat(), async (bytes, changes, cut) => {
        const altered = Buffer.from(bytes.subarray(0, changes.length % 2 ? bytes.length : cut % (bytes.length + 1)));
        for (const [place, value] of changes) if (altered.length > 0) altered[place % altered.length] = value;
        expect(expected).toContain((await sendProtobuf(account, altered)).status);
      }),
      randomRuns(80),
    );
  });

  it("answers JSON whose text is cut off or altered, and never by a fault of ours", async () => {
    const account = await test.makeAccount("pro");
    const source = fc.constantFrom(...recordings.map(({ json }) => json));
    const piece = fc.constantFrom('"', "{", "]", "null", "-1", "1e999", "\\ud800", "\\u0000", "true", "[]", "");
    await fc.assert(
      fc.asyncProperty(source, fc.array(fc.tuple(fc.nat(), piece), { maxLength: 4 }), async (json, changes) => {
        let altered = json;
        for (const [place, text] of changes) {
          const at = place % altered.length;
          altered = altered.slice(0, at) + text + altered.slice(at + 1);
        }
        expect(expected).toContain((await sendJson(account, altered)).status);
      }),
      randomRuns(60),
    );
  });

  it("refuses what takes a parser long, before it is parsed", async () => {
    const account = await test.makeAccount("pro");
    const keys = (count: number) => Array.from({ length: 60_000 }, (_, n) => `"k${n % count}":0`).join(",");
    const objects = (count: number) => `[${"{},".repeat(count)}{}]`;
    const cases = [
      [`"x":${objects(300_000)}`, 400, "There must not be more than 300000 objects and arrays"],
      [`"x":${objects(299_990)}`, 200],
      [`"x":{${keys(1_001)}}`, 400, "There must not be more than 1000 different names of members"],
      [`"x":{${keys(10)}}`, 400, "k0 must not be given twice in one object"],
    ] as const;
    for (const [member, status, message] of cases) {
      const answer = await sendJson(account, `{"resourceSpans":[],${member}}`).expect(status);
      if (message) expect(jsonOf(answer)["message"]).toContain(message);
    }
  });

  it("refuses a span of too many attributes, and stores the others", async () => {
    const account = await test.makeAccount("pro");
    const spanOf = (id: number, attributes: number) => ({
      traceId: "d".repeat(32),
      spanId: String(id).repeat(16),
      name: "s",
      attributes: Array.from({ length: attributes }, (_, n) => ({ key: `k${n}`, value: { boolValue: true } })),
    });
    const spans = [spanOf(1, 30_000), spanOf(2, 1)];
    const answer = await sendJson(account, { resourceSpans: [{ scopeSpans: [{ spans }] }] }).expect(200);
    expect(jsonOf(answer)).toEqual({
      partialSuccess: {
        rejectedSpans: "1",
        errorMessage: expect.stringContaining("more than 20000 attributes, events, links and values in lists"),
      },
    });
  });

  it("answers any JSON in any place", async () => {
    const account = await test.makeAccount("pro");
    const place = fc.constantFrom(
      "traceId",
      "spanId",
      "parentSpanId",
      "name",
      "kind",
      "startTimeUnixNano",
      "endTimeUnixNano",
      "attributes",
      "events",
      "links",
      "status",
      "traceState",
      "droppedEventsCount",
    );
    await fc.assert(
      fc.asyncProperty(place, fc.jsonValue({ maxDepth: 3 }), async (name, value) => {
        const span = { traceId: "c".repeat(32), spanId: "1".repeat(16), name: "s", [name]: value };
        expect(expected).toContain(
          (await sendJson(account, { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })).status,
        );
      }),
      { ...randomRuns(60), examples: [["droppedEventsCount", { toString: false }]] },
    );
  });

  it("keeps naughty strings in every place of a span", async () => {
    const account = await test.makeAccount("pro");
    const strings = [
      ...naughtyStrings,
      "\u0000",
      "a\u0000b",
      "\ud800",
      "[".repeat(50_000),
      `{"a":"\\ud800"}`,
      `"\\u0000"`,
    ];
    const spans = strings.map((text, n) => ({
      traceId: `e${n.toString(16).padStart(31, "0")}`,
      spanId: "1".repeat(16),
      name: text,
      traceState: text,
      status: { code: 2, message: text },
      attributes: ["gen_ai.agent.name", "input.value", "gen_ai.output.messages", `gen_ai.prompt.0.${text}`, text].map(
        (key) => ({
          key,
          value: { stringValue: text },
        }),
      ),
      events: [{ name: text, attributes: [{ key: text, value: { stringValue: text } }] }],
    }));
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "s" } }] };
    await sendJson(account, {
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "\u0000" }, spans }] }],
    }).expect(200);
    const traces = [...(await readTraces(account, (text, values) => test.pool.query(text, values))).values()];
    expect(traces).toHaveLength(strings.length);
    traces.forEach((trace, n) => {
      const [span] = trace.spans;
      const text = (strings[n] ?? "").toWellFormed().replaceAll("\u0000", "\ufffd");
      const cut = (length: number) => text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
      expect(span?.name).toBe(cut(1_000) || "unknown");
      expect(span?.error).toBe(text || null);
      expect(trace.agent_id).toBe(cut(255) || "s");
      const isJson = span?.input !== null && typeof span?.input === "object";
      if (!isJson) expect(span?.input).toBe(strings[n]);
    });
  });

  it("refuses protobuf whose strings are not UTF-8", async () => {
    const account = await test.makeAccount("pro");
    const { protobuf } = recordings.find(({ name }) => name === "otlp-spec-example") ?? { protobuf: Buffer.alloc(0) };
    const broken = Buffer.from(protobuf);
    broken[broken.indexOf("my.service")] = 0xff;
    await sendProtobuf(account, broken).expect(400);
  });

  it("answers a body that is not in its encoding", async () => {
    const account = await test.makeAccount("pro");
    const answer = await account
      .post("/v1/traces")
      .type("application/x-protobuf")
      .set("Content-Encoding", "gzip")
      .send("not gzip");
    expect(answer.status).toBe(400);
    const unknown = await account
      .post("/v1/traces")
      .type("application/x-protobuf")
      .set("Content-Encoding", "zstd")
      .send("x");
    expect(unknown.status).toBe(415);
    await sendOtlp(account, Buffer.alloc(0), "application/x-protobuf", { encoding: "gzip" }).expect(200);
  });

  it.each(readFixture<{ name: string; input: object; expected_error: string | null }>("otlp-bad-requests.ndjson"))(
    "answers fluent-bit's request $name",
    async ({ name, input, expected_error }) => {
      const account = await test.makeAccount("pro");
      const { status } = await sendJson(account, input);
      expect(status).toBe(expected_error === null || taken.has(name) ? 200 : 400);
    },
  );
});
