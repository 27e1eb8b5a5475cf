import { randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";

import request from "supertest";
import { spanBody, type TestAccount, useApp } from "../app.fixture.js";

const at = (ms: number) => new Date(Date.parse("2026-06-01T12:00:00.000Z") + ms).toISOString();

describe("tools that find causes", () => {
  const test = useApp({ rateLimitPerSecond: 0, bodyLimitBytes: 8 * 1_048_576 });
  async function call({ key }: TestAccount, name: string, args: object) {
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const { body } = await request(test.app)
      .post("/mcp")
      .set("Authorization", `Bearer ${key}`)
      .send(message)
      .expect(200);
    const [{ text }] = body.result.content;
    return { length: text.length as number, value: JSON.parse(text) };
  }
  async function addSpan(account: TestAccount, traceId: string, span: Record<string, unknown>): Promise<string> {
    return (await account.post(`/api/v1/traces/${traceId}/spans`, spanBody(span)).expect(201)).body.span_id;
  }

  /** A run whose cause is one of 5,000 spans: a currency that an earlier release did not send. */
  async function makeRuns() {
    const account = await test.makeAccount("pro");
    const long = randomBytes(500_000).toString("hex");
    const run = async (changes: Record<string, unknown>, currency: string | undefined) => {
      const traceId = await account.makeTrace({ agent_id: "billing", name: "Bill the order", ...changes });
      const isFailed = currency !== undefined;
      const root = await addSpan(account, traceId, {
        name: "run",
        kind: "agent",
        status: isFailed ? "error" : "ok",
        input: { question: "Bill order 1042" },
      });
      const pay = await addSpan(account, traceId, {
        name: "pay",
        kind: "chain",
        status: isFailed ? "error" : "ok",
        parent_span_id: root,
        error: isFailed ? "charge failed" : null,
        input: long,
        ended_at: at(9_000),
      });
      const cause = await addSpan(account, traceId, {
        ...{
          name: "charge",
          kind: "tool",
          parent_span_id: pay,
          status: isFailed ? "error" : "ok",
          started_at: at(5_000),
          ended_at: at(6_000),
        },
        ...{
          input: { order: 1042, currency: currency ?? "EUR", log: long },
          error: isFailed ? `unknown currency ${currency}` : null,
        },
      });
      return { traceId, cause };
    };
    const success = await run(
      { status: "success", release: "1.2", started_at: at(-60_000), ended_at: at(-50_000) },
      undefined,
    );
    const failed = await run({ status: "error", release: "1.3", ended_at: at(10_000) }, "XBT");
    await test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, kind, status, started_at, ended_at, input, output)
       SELECT $1, $2, gen_random_uuid(), 'step ' || n, 'model', 'ok', $3::timestamptz + n * interval '1 ms', $3::timestamptz + n * interval '2 ms',
         CASE WHEN n % 500 = 0 THEN to_json($4::text) ELSE to_json(repeat('currency rates ', 5)) END, to_json('ok ' || n)
       FROM generate_series(1, 4997) n`,
      [account.id, failed.traceId, at(0), long],
    );
    return { account, success, failed };
  }

  it("lead a scripted agent from the list to the cause within 20,000 characters", async () => {
    const { account, success, failed } = await makeRuns();
    const steps = [];
    const list = await call(account, "list_traces", { status: "error", limit: 3, max_chars: 2_000 });
    steps.push(list);
    const traceId = list.value.traces[0].id;
    const explained = await call(account, "explain_failure", { trace_id: traceId, max_chars: 10_000 });
    steps.push(explained);
    const { failing_path, last_success, differs } = explained.value;
    expect(failing_path.map(({ name }: { name: string }) => name)).toEqual(["run", "pay", "charge"]);
    const cause = failing_path.at(-1);
    expect(cause).toMatchObject({
      id: failed.cause,
      error: "unknown currency XBT",
      input: expect.stringContaining('"currency":"XBT"'),
    });
    expect(cause.input).toContain("[cut: 10000");
    expect(last_success.trace.id).toBe(success.traceId);
    expect(last_success.steps.at(-1).input).toContain('"currency":"EUR"');
    expect(differs).toContain("release: 1.3, in the success 1.2");
    const found = await call(account, "search_spans", { trace_id: traceId, q: "XBT", max_chars: 2_000 });
    steps.push(found);
    expect(found.value).toMatchObject({
      spans: [{ id: failed.cause, found_in: "error", excerpt: "unknown currency XBT" }],
    });
    steps.push(await call(account, "get_trace", { trace_id: traceId, max_chars: 5_000 }));
    expect(steps.at(-1)?.value).toMatchObject({
      trace: { spans: 5_000, errors: 3 },
      failing_path: [{}, {}, { id: failed.cause }],
    });
    expect(steps.reduce((sum, { length }) => sum + length, 0)).toBeLessThanOrEqual(20_000);
  }, 60_000);

  it("find steps by name, kind, status, model and words, in one trace and in the newest", async () => {
    const account = await test.makeAccount("pro");
    const other = await test.makeAccount("pro");
    const ids: string[] = [];
    for (let n = 0; n < 12; n++) {
      const traceId = await account.makeTrace({ started_at: at(n * 1_000), agent_id: n % 2 ? "odd" : "even" });
      const attributes = { "gen_ai.request.model": `gpt-${n}`, "gen_ai.usage.input_tokens": 5 };
      ids.push(
        await addSpan(account, traceId, {
          name: `Ask ${n}`,
          kind: "model",
          input: { text: 'Straße "süd"' },
          attributes,
        }),
      );
      await addSpan(account, traceId, { name: "Tool", kind: "tool", status: n === 3 ? "error" : "ok" });
    }
    await addSpan(other, await other.makeTrace(), { name: "Ask 3", input: "strasse" });
    const find = async (args: object) => {
      const { spans } = (await call(account, "search_spans", args)).value;
      return spans.map(({ name }: { name: string }) => name);
    };
    expect(await find({ q: "STRASSE", agent_id: "odd" })).toEqual([11, 9, 7, 5, 3, 1].map((n) => `Ask ${n}`));
    expect(await find({ status: "error" })).toEqual(["Tool"]);
    expect(await find({ name: "ask 1" })).toEqual(["Ask 11", "Ask 10", "Ask 1"]);
    expect(await find({ model: "GPT-7", kind: "model,agent" })).toEqual(["Ask 7"]);
    expect(await find({ q: "nowhere" })).toEqual([]);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; pages === 0 || cursor; pages++) {
      const { value } = await call(account, "search_spans", { q: "süd", limit: 5, ...(cursor && { cursor }) });
      seen.push(...value.spans.map(({ id }: { id: string }) => id));
      cursor = value.next_cursor ?? undefined;
    }
    expect([seen, pages >= 3]).toEqual([ids.toReversed(), true]);
  });

  it("give long texts in parts, as they were sent", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace();
    const input = `${'"\\\\é🏁'.repeat(5_000)}end`;
    const span_id = await addSpan(account, traceId, { input });
    const outline = (await call(account, "get_trace", { trace_id: traceId, span_id, max_chars: 1_500 })).value.span
      .input;
    expect([outline.includes("[cut: "), outline.endsWith('end"')]).toEqual([true, true]);
    let text = "";
    for (let cursor: string | null = "0"; cursor !== null; ) {
      const { value, length } = await call(account, "get_trace", {
        trace_id: traceId,
        span_id,
        field: "input",
        cursor,
      });
      expect(length).toBeLessThanOrEqual(20_000);
      text += value.text;
      cursor = value.next_cursor;
    }
    expect(JSON.parse(text)).toBe(input);
    const none = await call(account, "get_trace", { trace_id: traceId, span_id, field: "error" });
    expect(none.value).toEqual({ error: "The span has no error" });
  });

  it("do not hold the event loop on the largest traces", async () => {
    const account = await test.makeAccount("pro");
    const traceId = await account.makeTrace({ status: "error" });
    const chain = `SELECT $1::uuid AS account_id, $2::uuid AS trace_id, ('0197a000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,
      repeat('n"', 490) AS name, 'error' AS status, now() AS started_at, CASE WHEN n > 1 THEN '0197a000-0000-7000-8000-' || lpad(to_hex(n - 1), 12, '0') END AS parent,
      repeat('e\\"', 500) AS error, CASE WHEN n > 2990 THEN to_json(repeat('í"', 1500000)) END AS input FROM generate_series(1, 3000) n`;
    await test.pool.query(
      `INSERT INTO span (account_id, trace_id, id, name, status, started_at, parent_span_id, error, input)
       SELECT account_id, trace_id, id, name, status, started_at, parent, error, input FROM (${chain}) c`,
      [account.id, traceId],
    );
    const words = `í ${Array.from({ length: 19 }, (_, n) => `no${n}`).join(" ")}`;
    const calls: [string, { max_chars: number; [name: string]: unknown }][] = [
      ["explain_failure", { trace_id: traceId, max_chars: 100_000 }],
      ["get_trace", { trace_id: traceId, max_chars: 100_000 }],
      ["search_spans", { trace_id: traceId, q: words, max_chars: 100_000 }],
      ["explain_failure", { trace_id: traceId, max_chars: 1_000 }],
      ["get_trace", { trace_id: traceId, max_chars: 1_000 }],
      ["search_spans", { q: "í", limit: 200, max_chars: 100_000 }],
    ];
    // First without a measure: a function takes longer at its first calls.
    for (const isMeasured of [false, true]) {
      for (const [name, args] of calls) {
        const heldMs = await longestHold(async () => {
          const { length, value } = await call(account, name, args);
          expect([name, value.error, length <= args.max_chars]).toEqual([name, undefined, true]);
        });
        // Some milliseconds here, and seconds if a call went over all texts at once; a busy machine and this process's own reading add to it.
        if (isMeasured) expect([name, heldMs < 400, Math.round(heldMs)]).toEqual([name, true, expect.any(Number)]);
      }
    }
  }, 120_000);
});

/** The most processor time between two rounds of the event loop: other programs also run on the machine. */
async function longestHold(work: () => Promise<void>): Promise<number> {
  let [longest, last, isOver] = [0, process.cpuUsage(), false];
  const watch = () => {
    longest = Math.max(longest, process.cpuUsage(last).user / 1_000);
    last = process.cpuUsage();
    if (!isOver) setImmediate(watch);
  };
  setImmediate(watch);
  try {
    await work();
  } finally {
    isOver = true;
  }
  return longest;
}
