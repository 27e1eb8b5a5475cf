import { describe, expect, it } from "@jest/globals";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { type TestAccount, useApp } from "../app.fixture.js";
import { keyValues, logRecord, readTraces, sendJson, sendLogs } from "./otlp.fixture.js";

const kinds = ["user", "assistant", "choice", "details", "exception", "line"] as const;
type Kind = (typeof kinds)[number];

interface SpanModel {
  ownInput: boolean;
  ownTokens: boolean;
  isFailed: boolean;
  logs: readonly Kind[];
}

const spanModel: fc.Arbitrary<SpanModel> = fc.record({
  ownInput: fc.boolean(),
  ownTokens: fc.boolean(),
  isFailed: fc.boolean(),
  logs: fc.array(fc.constantFrom(...kinds), { maxLength: 6 }),
});

/** Spans, and the piece of a request in which each span and record arrives, some of them twice. */
const scenario = fc.record({
  spans: fc.array(spanModel, { minLength: 1, maxLength: 3 }),
  pieces: fc.infiniteStream(fc.nat({ max: 3 })),
  repeats: fc.infiniteStream(fc.boolean()),
  order: fc.infiniteStream(fc.nat({ max: 1_000 })),
});

const start = 1_780_315_200_000_000_000n;
const spanIdOf = (n: number) => (n + 1).toString(16).padStart(16, "0");
/** What a model call is told to have used; the cost in millionths of a dollar. */
const usageOf = (n: number) => ({ input: 100 + n, output: 10 + n, cost: 1_000 + n });
const usageAttributes = (n: number) => {
  const { input, output, cost } = usageOf(n);
  return {
    "gen_ai.request.model": "nobody's",
    "gen_ai.usage.input_tokens": input,
    "gen_ai.usage.output_tokens": output,
    "gen_ai.usage.cost": cost / 1_000_000,
  };
};

function spanOf(traceId: string, { ownInput, ownTokens, isFailed }: SpanModel, n: number) {
  const span = {
    traceId,
    spanId: spanIdOf(n),
    ...(n > 0 && { parentSpanId: spanIdOf(0) }),
    name: `chat ${n}`,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 1_000_000n),
    status: { code: isFailed ? 2 : 1 },
    attributes: keyValues({
      "gen_ai.operation.name": "chat",
      ...(ownInput && { "input.value": `own ${n}` }),
      ...(ownTokens && usageAttributes(1_000 + n)),
    }),
  };
  return { scopeSpans: [{ spans: [span] }] };
}

function recordOf(traceId: string, span: number, kind: Kind, n: number) {
  const text = `${span}.${n}`;
  const known = {
    user: { eventName: "gen_ai.user.message", body: { content: text } },
    assistant: { eventName: "gen_ai.assistant.message", body: { content: text } },
    choice: { eventName: "gen_ai.choice", body: { message: { content: text } } },
    details: {
      eventName: "gen_ai.client.inference.operation.details",
      attributes: {
        "gen_ai.input.messages": [{ role: "user", content: text }],
        ...usageAttributes(10 * span + n),
      },
    },
    exception: { eventName: "exception", attributes: { "exception.message": text } },
    line: { body: text },
  }[kind];
  return logRecord({ traceId, spanId: spanIdOf(span), timeUnixNano: String(start + BigInt(n) * 1_000n), ...known });
}

/** What the span must be in the end, told without the code under test. */
function expectedSpan({ ownInput, isFailed, logs }: SpanModel, n: number) {
  const texts = (...wanted: Kind[]) =>
    logs.flatMap((kind, at) => (wanted.includes(kind) ? [{ kind, text: `${n}.${at}` }] : []));
  const details = texts("details").at(-1)?.text;
  const said = texts("user", "assistant").map(({ kind, text }) => ({ role: kind, content: text }));
  const input = ownInput ? `own ${n}` : details ? [{ role: "user", content: details }] : said.length > 0 ? said : null;
  const choices = texts("choice").map(({ text }) => ({ message: { content: text } }));
  const isSaidKept = ownInput || details !== undefined;
  const kept = logs.filter((kind) => kind !== "choice" && (isSaidKept || (kind !== "user" && kind !== "assistant")));
  return {
    input,
    output: choices.length > 0 ? choices : null,
    error: (isFailed && texts("exception").at(-1)?.text) || null,
    logs: kept.length,
  };
}

/** The first words of a user to the first span that has some. */
function expectedName(spans: readonly SpanModel[]): string {
  const words = spans.map(({ ownInput, logs }, n) => {
    const details = logs.lastIndexOf("details");
    const said = details >= 0 ? details : logs.indexOf("user");
    return ownInput ? `own ${n}` : said >= 0 ? `${n}.${said}` : undefined;
  });
  return words.find((text) => text !== undefined) ?? "chat 0";
}

function expectedUsage(spans: readonly SpanModel[]) {
  const counted = spans.map(({ ownTokens, logs }, n) => {
    const last = logs.lastIndexOf("details");
    return ownTokens ? usageOf(1_000 + n) : last >= 0 ? usageOf(10 * n + last) : undefined;
  });
  // The root's own count yields to those below it.
  const below = counted.slice(1).filter((usage) => usage !== undefined);
  const used = below.length > 0 ? below : counted.slice(0, 1).filter((usage) => usage !== undefined);
  const sum = (kind: "input" | "output" | "cost") => used.reduce((total, usage) => total + usage[kind], 0);
  return { input_tokens: sum("input"), output_tokens: sum("output"), cost: used.length > 0 ? sum("cost") : null };
}

describe("log records and spans of a trace", () => {
  const test = useApp();
  const readSpans = async (account: TestAccount) => {
    const [trace] = (await readTraces(account, (text, values) => test.pool.query(text, values))).values();
    const spans = (trace?.spans ?? []) as unknown as Record<string, unknown>[];
    return spans
      .sort((a, b) => (String(a["name"]) < String(b["name"]) ? -1 : 1))
      .map((span) => ({
        input: span["input"],
        output: span["output"],
        error: span["error"],
        logs: (span["otel"] as { logs?: unknown[] }).logs?.length ?? 0,
      }));
  };
  const readUsage = async (account: TestAccount) => {
    const { body } = await account.get("/api/v1/traces").expect(200);
    const trace = await account.get(`/api/v1/traces/${body.traces[0].id}?include=usage`).expect(200);
    const { input_tokens, output_tokens, cost_usd } = trace.body.usage;
    return { input_tokens, output_tokens, cost: cost_usd === null ? null : Math.round(Number(cost_usd) * 1_000_000) };
  };

  const readName = async (account: TestAccount) => {
    const { body } = await account.get("/api/v1/traces").expect(200);
    return body.traces[0].name;
  };

  it("make the same spans, name, tokens and cost in pieces, doubled, in any order, over two instances at once", async () => {
    const second = await test.startInstance();
    let traces = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async ({ spans, pieces, repeats, order }) => {
        const account = await test.makeAccount("pro");
        const traceId = (++traces).toString(16).padStart(32, "0");
        const senders = [account, second(account)];
        const requests = new Map<string, object[]>();
        const add = (kind: "spans" | "logs", item: object) => {
          const times = repeats.next().value ? 2 : 1;
          for (let n = 0; n < times; n++) {
            const key = `${kind} ${pieces.next().value}`;
            requests.set(key, [...(requests.get(key) ?? []), item]);
          }
        };
        spans.forEach((span, n) => {
          add("spans", spanOf(traceId, span, n));
          span.logs.forEach((kind, at) => void add("logs", recordOf(traceId, n, kind, at)));
        });
        const shuffled = [...requests].map((entry) => ({ entry, at: order.next().value })).sort((a, b) => a.at - b.at);
        await Promise.all(
          shuffled.map(({ entry: [key, items], at }) => {
            const sender = senders[at % 2] ?? account;
            const sent = key.startsWith("spans") ? sendJson(sender, { resourceSpans: items }) : sendLogs(sender, items);
            return sent.expect(200);
          }),
        );
        expect(await readSpans(account)).toEqual(spans.map(expectedSpan));
        expect(await readName(account)).toBe(expectedName(spans));
        expect(await readUsage(account)).toEqual(expectedUsage(spans));
      }),
      randomRuns(25),
    );
  });
});
