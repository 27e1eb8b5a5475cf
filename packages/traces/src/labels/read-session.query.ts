import { smallestUuid } from "@waymark/database";
import type pg from "pg";
import { z } from "zod";
import { isoText, membersIn } from "../field-table.js";
import { type ListedTrace, listedColumns, presentListedTrace, type TraceCursor } from "../list-traces.query.js";
import { costSql, noTokens, sumSql, tokenSumsSchema } from "../model-calls/read-token-sums.query.js";
import { countedCallsSql, settleCalls } from "../model-calls/settle-calls.query.js";
import { cursorParameter, limitParameter, maxCountedTraces, pageOf, readTimeAndId } from "../paging.js";
import { readTraceParts } from "./list-parts.query.js";
import { sessionSchema } from "./list-sessions.query.js";

const maxText = 4_000;

export const sessionTracesQuerySchema = z.object({ limit: limitParameter, cursor: cursorParameter(readCursor) });

const { traces: _, ...summary } = sessionSchema.shape;
const summarySchema = z.object(summary);

export const turnSchema = {
  input: z.string().nullable().describe(`The text of the first input, at most ${maxText} characters`),
  output: z.string().nullable().describe(`The text of the last output, at most ${maxText} characters`),
  ...tokenSumsSchema.shape,
};
export const sessionSummarySchema = summarySchema;

interface SessionToRead {
  accountId: string;
  sessionId: string;
  after: TraceCursor;
  limit: number;
}

export const oldestCursor: TraceCursor = { startedAt: "-infinity", id: smallestUuid };

/** A range of `trace_session_idx`, the newest of at most {@link maxCountedTraces}, and one of `model_call_pkey` for each. */
const readSessionSql = `
  WITH found AS MATERIALIZED (
    SELECT * FROM trace WHERE account_id = $1 AND session_id = $2
    ORDER BY session_id DESC, started_at DESC, id DESC LIMIT ${maxCountedTraces}
  ), summary AS MATERIALIZED (
    SELECT (array_agg(user_id ORDER BY started_at DESC, id DESC) FILTER (WHERE user_id IS NOT NULL))[1] AS user_id,
      count(*) FILTER (WHERE status IN ('error', 'timeout'))::int AS failures, min(started_at) AS first_at,
      GREATEST(max(started_at), max(ended_at)) AS last_at FROM found
  ), calls AS MATERIALIZED (
    SELECT ${sumSql("input_tokens")}, ${sumSql("output_tokens")}, ${costSql("count(cost)")} FROM ${countedCallsSql}
    WHERE account_id = $1 AND trace_id IN (SELECT id FROM found)
  )
  SELECT ${listedColumns}, json_build_object('user_id', s.user_id, 'failures', s.failures, 'first_at', ${isoText("s.first_at")},
    'last_at', ${isoText("s.last_at")}, 'input_tokens', c.input_tokens, 'output_tokens', c.output_tokens, 'cost_usd', c.cost_usd) AS summary
  FROM found t CROSS JOIN summary s CROSS JOIN calls c
  WHERE (t.started_at, t.id) > ($3, $4) ORDER BY t.started_at, t.id LIMIT $5`;

type Summary = Omit<z.output<typeof summarySchema>, "id">;

/** A conversation's traces, oldest first, with what was said; undefined where the account has none after the cursor. */
export async function readSession(pool: pg.Pool, { accountId, sessionId, after, limit }: SessionToRead) {
  await settleCalls(pool, accountId);
  const { rows } = await pool.query<ListedTrace & { summary: string }>({
    name: "read-session",
    text: readSessionSql,
    values: [accountId, sessionId, after.startedAt, after.id, limit + 1],
  });
  const [first] = rows;
  if (!first) return undefined;
  const { page, next_cursor } = pageOf(rows, limit, ({ started_at, id }) => `${started_at} ${id}`);
  const ids = page.map(({ id }) => id);
  const found = await readTraceParts(pool, { accountId, ids, parts: ["usage", "input", "output"], maxLength: maxText });
  return {
    ...membersIn(summarySchema, { id: sessionId, ...(JSON.parse(first.summary) as Summary) }),
    traces: page.map((trace) => ({
      ...presentListedTrace(trace),
      input: null,
      output: null,
      ...noTokens,
      ...found.get(trace.id),
    })),
    next_cursor,
  };
}

function readCursor(text: string): TraceCursor | undefined {
  const read = readTimeAndId(text);
  return read?.rest.length === 0 ? { startedAt: read.time, id: read.id } : undefined;
}
