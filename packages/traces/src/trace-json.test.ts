import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createGroupCommit } from "@waymark/database";
import { randomRuns } from "@waymark/testing";
import fc from "fast-check";
import { isoText } from "./field-table.js";
import { createTraceReader } from "./get-trace.query.js";
import { spanKinds } from "./statuses.js";
import { attributesEnd, traceJson } from "./trace-json.js";
import { useTraces } from "./traces.fixture.js";

const orNull = (json: string) => `COALESCE(${json}, 'null')`;
const isoJson = (column: string) => orNull(`'"' || ${isoText(column)} || '"'`);
/** A span as Postgres itself writes JSON. */
const spanJson = (parts: readonly string[]) => `concat(
  '{"id":"', s.id, '","name":', to_json(s.name), ',"status":"', s.status, '","started_at":', ${isoJson("s.started_at")},
  ',"ended_at":', ${isoJson("s.ended_at")}, ',"input":', ${orNull("s.input")}, ',"output":', ${orNull("s.output")},
  ',"error":', ${orNull("to_json(s.error)")}, ',"parent_span_id":', ${orNull("to_json(s.parent_span_id)")}, ${parts.includes("kind") ? `',"kind":', ${orNull("to_json(s.kind)")},` : ""} ${parts.includes("attributes") ? attributesEnd : "'}'"})`;

/** Any text that Postgres stores. */
const text = fc.string({ unit: "binary" }).map((each) => each.replaceAll("\0", "").toWellFormed());
const control = fc.constantFrom("\u0001", "=", "\u0002", '"\\', "\u007f\u2028", "\n\r\t\b\f\u001f");
const anyText = fc.oneof(text, control, fc.constant("a step"));
const json = fc.oneof(fc.json(), fc.constantFrom('{"a" : 1,\n\t"a":1e400}', '"\\u0000\\u0001"', "null", '"x y"'));
const time = fc
  .oneof(
    fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true }),
    fc.date({ min: new Date("2026-01-01T00:00:00Z"), max: new Date("2026-01-03T00:00:00Z"), noInvalidDate: true }),
  )
  .map((date) => date.toISOString().replace("Z", ""));
const timeText = fc.tuple(time, fc.constantFrom("", "001", "120", "999")).map(([ms, us]) => `${ms}${us}Z`);
const span = fc.record({
  name: anyText,
  started_at: timeText,
  ended_at: fc.option(timeText),
  input: fc.option(json),
  output: fc.option(json),
  error: fc.option(anyText),
  parent_span_id: fc.option(anyText),
  kind: fc.option(fc.constantFrom(...spanKinds)),
  attributes: fc.option(fc.constantFrom('{"attributes":{"a":1}}', '{"attributes":{}}')),
});

describe("a small trace", () => {
  const { pool, makeAccount, insertTrace } = useTraces();
  const { readTrace } = createTraceReader({
    pool,
    createGroupCommit: (options) => {
      const refuse = () => new Error("No capacity");
      const queue = createGroupCommit({ ...options, ownerOf: ({ accountId }) => accountId, refuse });
      return (row) => queue.add(row);
    },
    largeAnswers: { take: () => undefined, give: () => undefined },
  });

  async function read(accountId: string, traceId: string, parts: readonly string[]): Promise<string> {
    const answer = (await readTrace({ accountId, traceId, parts }))?.body;
    if (typeof answer === "string") return answer;
    let whole = "";
    for await (const chunk of answer ?? []) whole += chunk;
    return whole;
  }

  const choices: string[][] = [[], ["kind"], ["attributes"], ["attributes", "kind", "usage"]];

  it.each(choices.map((parts) => ({ parts })))(
    "has byte for byte the text that Postgres writes ($parts)",
    async ({ parts }) => {
      const accountId = await makeAccount();
      await fc.assert(
        fc.asyncProperty(fc.array(span, { maxLength: 6 }), async (spans) => {
          const traceId = await insertTrace(accountId);
          for (const [n, each] of spans.entries()) {
            await pool.query(
              `INSERT INTO span (account_id, trace_id, id, name, status, started_at, ended_at, input, output, error, parent_span_id, kind, attributes)
             VALUES ($1, $2, $3, $4, 'ok', $5, $6, $7, $8, $9, $10, $11, $12)`,
              [
                accountId,
                traceId,
                `${String(n).padStart(8, "0")}${randomUUID().slice(8)}`,
                each.name,
                each.started_at,
                each.ended_at,
                each.input,
                each.output,
                each.error,
                each.parent_span_id,
                each.kind,
                each.attributes,
              ],
            );
          }
          const { rows } = await pool.query<{ json: string }>(
            `SELECT concat(${traceJson}, (
             SELECT string_agg(${spanJson(parts)}, ',' ORDER BY s.id) FROM span s
             WHERE s.account_id = t.account_id AND s.trace_id = t.id
           ), ']}') AS json FROM trace t WHERE account_id = $1 AND id = $2`,
            [accountId, traceId],
          );
          expect(await read(accountId, traceId, parts)).toBe(rows[0]?.json);
        }),
        randomRuns(60),
      );
    },
  );
});
