import { describe, expect, it } from "@jest/globals";
import { maxScoresPerTrace } from "@waymark/traces";
import { type TestAccount, useApp } from "../app.fixture.js";
import { keyValues, logRecord, sendJson, sendLogs } from "./otlp.fixture.js";

const ids = { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" };
const event = (attributes: Record<string, unknown>, timeUnixNano = "1780000000000000000") => ({
  name: "gen_ai.evaluation.result",
  timeUnixNano,
  attributes: keyValues(attributes),
});
const accurate = { "gen_ai.evaluation.name": "accuracy", "gen_ai.evaluation.score.value": 0.75 };

describe("judgements from OpenTelemetry", () => {
  const test = useApp();

  async function sendSpan(account: TestAccount, more: Record<string, unknown>) {
    const [startTimeUnixNano, endTimeUnixNano] = ["1780000000000000000", "1780000001000000000"];
    const span = { ...ids, name: "chat", startTimeUnixNano, endTimeUnixNano, ...more };
    await sendJson(account, { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }).expect(200);
  }

  async function readScores(account: TestAccount) {
    const { body } = await account.get("/api/v1/traces").expect(200);
    const { body: trace } = await account.get(`/api/v1/traces/${body.traces[0].id}?include=scores`).expect(200);
    const spanIds = trace.spans.map(({ id }: { id: string }) => id);
    return trace.scores.map(({ name, value, comment, span_id }: Record<string, unknown>) => {
      return [name, value, comment, spanIds.includes(span_id)];
    });
  }

  it("of a span's events become its scores, once however often they come", async () => {
    const account = await test.makeAccount("pro");
    const label = { "gen_ai.evaluation.score.label": "pass", "gen_ai.evaluation.explanation": "Found it" };
    const events = [
      event({ ...accurate, ...label }),
      event({ "gen_ai.evaluation.name": "tone", ...label }),
      event({ "gen_ai.evaluation.name": "nothing" }),
      event({ ...accurate, "gen_ai.evaluation.score.value": 1e15 + 0.5 }),
      event({ "gen_ai.evaluation.score.value": 1 }),
      event(accurate, "1780000000000001000"),
    ];
    await sendSpan(account, { events });
    await sendSpan(account, { events });
    const scores = await readScores(account);
    expect(scores).toHaveLength(3);
    expect(scores).toEqual(
      expect.arrayContaining([
        ["accuracy", 0.75, "pass: Found it", true],
        ["tone", "pass", "Found it", true],
        ["accuracy", 0.75, null, true],
      ]),
    );
  });

  it("of a span's attributes become its score", async () => {
    const account = await test.makeAccount("free");
    await sendSpan(account, { attributes: keyValues(accurate) });
    expect(await readScores(account)).toEqual([["accuracy", 0.75, null, true]]);
  });

  it.each(["before", "after"])("of a log record that comes %s its span become its score", async (order) => {
    const account = await test.makeAccount("pro");
    const record = logRecord({
      ...ids,
      eventName: "gen_ai.evaluation.result",
      timeUnixNano: "1780000000000000000",
      attributes: accurate,
    });
    const sendRecord = () => sendLogs(account, [record]).expect(200);
    if (order === "before") await sendRecord();
    await sendSpan(account, {});
    await sendRecord();
    await sendRecord();
    expect(await readScores(account)).toEqual([["accuracy", 0.75, null, true]]);
  });

  it("beyond a trace's scores stay events of its span", async () => {
    const account = await test.makeAccount("pro");
    const events = Array.from({ length: maxScoresPerTrace + 5 }, (_, n) =>
      event(accurate, `178000000000${n + 1000}000`),
    );
    await sendSpan(account, { events });
    expect(await readScores(account)).toHaveLength(maxScoresPerTrace);
    await sendSpan(account, { spanId: "aaa19b7ec3c1b174", events: [event(accurate)] });
    expect(await readScores(account)).toHaveLength(maxScoresPerTrace);
  });
});
