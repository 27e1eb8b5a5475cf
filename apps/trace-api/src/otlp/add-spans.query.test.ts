import { describe, expect, it, jest } from "@jest/globals";
import type pg from "pg";
import { useApp } from "../app.fixture.js";
import { keyValues, sendJson } from "./otlp.fixture.js";

interface PlanNode {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

/** The rows of a table's partitions that a plan read. */
function rowsReadOf(table: string, { Plans = [], ...node }: PlanNode): number {
  const below = Plans.reduce((sum, plan) => sum + rowsReadOf(table, plan), 0);
  if (!node["Relation Name"]?.startsWith(`${table}_`)) return below;
  return below + (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
}

const hex = (n: number, digits: number) => n.toString(16).padStart(digits, "0");
const [traces, spansOfTrace] = [20, 25];
const calls = keyValues({ "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 5 });
const spans = Array.from({ length: traces * spansOfTrace }, (_, n) => ({
  traceId: hex(1 + (n % traces), 32),
  spanId: hex(n + 1, 16),
  name: "chat",
  startTimeUnixNano: "1795271640000000000",
  endTimeUnixNano: "1795271641000000000",
  attributes: calls,
}));

describe("the statement that stores spans of OpenTelemetry", () => {
  const test = useApp();

  it("looks for each span once, however many the account's other traces of the time have", async () => {
    const account = await test.makeAccount("pro");
    const body = { resourceSpans: [{ scopeSpans: [{ spans }] }] };
    await sendJson(account, body).expect(200);
    await test.pool.query("ANALYZE span");
    const query = jest.spyOn(test.pool, "query");
    await sendJson(account, body).expect(200);
    const statements = query.mock.calls
      .map(([config]) => config as unknown as pg.QueryConfig)
      .filter(({ name }) => name === "insert-otlp-spans");
    query.mockRestore();
    expect(statements).not.toHaveLength(0);

    let rows = 0;
    for (const { text, values } of statements) {
      const { rows: plans } = await test.pool.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      const [{ Plan: plan }] = JSON.parse(plans[0]["QUERY PLAN"]);
      rows += rowsReadOf("span", plan);
    }
    expect(rows).toBeGreaterThanOrEqual(spans.length);
    expect(rows).toBeLessThan(2 * spans.length);
  });
});
