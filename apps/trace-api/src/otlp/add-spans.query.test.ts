import { describe, expect, it, jest } from "@jest/globals";
import { withConnection } from "@waymark/database";
import type pg from "pg";
import { useApp } from "../app.fixture.js";
import { keyValues, sendJson } from "./otlp.fixture.js";

/** The entries that a session has read, and not reported yet, of a table's and its partitions' rows and indexes. */
const readEntries = `
  SELECT COALESCE(sum(pg_stat_get_xact_tuples_returned(r.oid)), 0)::int AS entries FROM pg_class t
  CROSS JOIN LATERAL (SELECT t.oid UNION ALL SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = t.oid) AS r
  WHERE t.relname ~ ('^' || $1 || '(_\\d+)?$') AND t.relkind = 'r'`;

const hex = (n: number, digits: number) => n.toString(16).padStart(digits, "0");
const [traces, spansOfTrace] = [20, 25];
const calls = keyValues({ "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5 });
const spansFrom = (trace: number) =>
  Array.from({ length: traces * spansOfTrace }, (_, n) => ({
    traceId: hex(trace + (n % traces), 32),
    spanId: hex(n + 1, 16),
    name: "chat",
    startTimeUnixNano: "1795271640000000000",
    endTimeUnixNano: "1795271641000000000",
    attributes: calls,
  }));
const bodyOf = (spans: ReturnType<typeof spansFrom>) => ({
  resourceSpans: [{ resource: { attributes: keyValues({ "service.name": "s" }) }, scopeSpans: [{ spans }] }],
});

describe("the statements that store spans of OpenTelemetry", () => {
  const test = useApp();

  async function statementsOf(send: () => PromiseLike<unknown>, name: string): Promise<pg.QueryConfig[]> {
    const query = jest.spyOn(test.pool, "query");
    await send();
    const all = query.mock.calls.map(([config]) => config as unknown as pg.QueryConfig);
    query.mockRestore();
    const statements = all.filter((statement) => statement.name === name);
    expect(statements).not.toHaveLength(0);
    return statements;
  }

  /** Runs statements by plans that know none of their values, as a busy connection does. */
  async function countRead(client: pg.ClientBase, statements: pg.QueryConfig[], table: string): Promise<number> {
    await client.query("SET plan_cache_mode = force_generic_plan");
    const { rows: before } = await client.query(readEntries, [table]);
    for (const statement of statements) await client.query(statement);
    const { rows: after } = await client.query(readEntries, [table]);
    return after[0].entries - before[0].entries;
  }

  it("look for each span once, however many the account's other traces of the time have", async () => {
    const account = await test.makeAccount("pro");
    const send = () => sendJson(account, bodyOf(spansFrom(1))).expect(200);
    await send();
    await test.pool.query("ANALYZE span");
    const statements = await statementsOf(send, "insert-otlp-spans");
    const rows = await withConnection(test.pool, (client) => countRead(client, statements, "span"));
    expect(rows).toBeGreaterThanOrEqual(traces * spansOfTrace);
    // Once more where they are inserted.
    expect(rows).toBeLessThanOrEqual(2 * traces * spansOfTrace);
  });

  it("look for each resource in its own trace, by a plan from before there was one", async () => {
    const account = await test.makeAccount("pro");
    const send = (first: number) => sendJson(account, bodyOf(spansFrom(first))).expect(200);
    const statements = await statementsOf(() => send(1), "insert-otlp-spans");
    await test.pool.query("TRUNCATE trace_context");
    await test.pool.query("VACUUM ANALYZE trace_context");
    await withConnection(test.pool, async (client) => {
      await countRead(client, statements, "trace_context");
      await send(1 + traces);
      expect(await countRead(client, statements, "trace_context")).toBeLessThanOrEqual(2 * traces);
    });
  });

  it("read no span of a trace without waiting log records", async () => {
    const account = await test.makeAccount("pro");
    const send = () => sendJson(account, bodyOf(spansFrom(1))).expect(200);
    await send();
    const statements = await statementsOf(send, "find-waiting-logs");
    expect(await withConnection(test.pool, (client) => countRead(client, statements, "span"))).toBe(0);
  });
});
