import { validationError } from "@waymark/errors";
import { parseTimestamp, textField, textProblem } from "@waymark/service/fields";
import type pg from "pg";
import { z } from "zod";
import { isoText, membersIn, timestamp } from "../field-table.js";
import { costSchema, costSql, maxSummedCalls, sumSql } from "../model-calls/read-token-sums.query.js";
import { countedCallsSql, settleCalls } from "../model-calls/settle-calls.query.js";
import {
  checkRange,
  cursorParameter,
  limitParameter,
  maxCountedTraces,
  pageOf,
  rangeParameters,
  refuseLarge,
} from "../paging.js";
import { maxLabel } from "../trace-fields.js";

function checkExamined([row]: readonly { examined: number; summed: number }[], from: string, to: string): void {
  refuseLarge({ from, to }, row?.examined ?? 0);
  if ((row?.summed ?? 0) <= maxSummedCalls) return;
  const most = `the page's traces that started from ${from} up to ${to} have more than ${maxSummedCalls.toLocaleString("en")} model calls`;
  throw validationError({ from: `Must be later, or limit smaller: ${most}` });
}

const sums = {
  traces: z.number(),
  failures: z.number().describe("Traces with `error` or `timeout`"),
};
const span = {
  first_at: timestamp.describe("The earliest start"),
  last_at: timestamp.describe("The latest end, or start of a trace without one"),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost_usd: costSchema,
};

export const sessionSchema = z.object({
  id: z.string(),
  user_id: z.string().nullable().describe("Of the latest trace with one"),
  ...sums,
  ...span,
});
export const userSchema = z.object({ id: z.string(), sessions: z.number(), ...sums, ...span });

type Session = z.output<typeof sessionSchema>;
type User = z.output<typeof userSchema>;

/** What {@link listSums} sums by. */
type Owner = "session_id" | "user_id";

const label = (description: string) => textField({ min: 1, max: maxLabel }).optional().describe(description);

const sumsQuery = {
  ...rangeParameters,
  agent_id: textField({ min: 1, max: 255 }).optional().describe("Only traces of this agent"),
  environment: label("Only traces of this environment"),
  limit: limitParameter,
  cursor: cursorParameter((text) => {
    const [time = "", ...rest] = text.split(" ");
    const id = rest.join(" ");
    const lastAt = parseTimestamp(time);
    return lastAt.ok && textProblem(id) === undefined ? { lastAt: lastAt.value, id } : undefined;
  }),
};

export const userQuerySchema = z.object(sumsQuery).superRefine(checkRange);
export const sessionQuerySchema = z
  .object({ ...sumsQuery, user_id: label("Only traces of this user") })
  .superRefine(checkRange);

type SumsToList = ReturnType<typeof sumsToList>;

export function sumsToList(accountId: string, query: z.output<typeof sessionQuerySchema>) {
  const { from = "-infinity", to = "infinity", agent_id, user_id, environment, limit } = query;
  const after = query.cursor ?? { lastAt: "infinity", id: "" };
  return { accountId, from, to, agentId: agent_id, userId: user_id, environment, after, limit };
}

/**
 * Reads $4 entries of `trace_listing_idx` that have an owner; one more than {@link maxCountedTraces} says that there are too many.
 * The page's owners come from them, and ranges of `model_call_pkey` for theirs alone, as many calls as {@link maxSummedCalls} allows.
 */
const listSumsSql = (owner: Owner) => `
  WITH examined AS MATERIALIZED (
    SELECT id, agent_id, status, started_at, ended_at, session_id, user_id, environment FROM trace
    WHERE account_id = $1 AND started_at >= $2 AND started_at < $3 AND ${owner} IS NOT NULL
    ORDER BY started_at DESC, id DESC LIMIT $4
  ), page AS MATERIALIZED (
    SELECT * FROM (
      SELECT ${owner} AS id, (array_agg(user_id ORDER BY started_at DESC, id DESC) FILTER (WHERE user_id IS NOT NULL))[1] AS user_id,
        count(DISTINCT session_id)::int AS sessions, count(*)::int AS traces,
        count(*) FILTER (WHERE status IN ('error', 'timeout'))::int AS failures, min(started_at) AS first_at,
        GREATEST(max(started_at), max(ended_at)) AS last_at, array_agg(id) AS ids
      FROM examined
      WHERE ($5::text IS NULL OR agent_id = $5) AND ($6::text IS NULL OR user_id = $6)
        AND ($7::text IS NULL OR environment = $7)
      GROUP BY 1
    ) grouped WHERE (last_at, id) < ($8::timestamptz, $9) ORDER BY last_at DESC, id DESC LIMIT $10
  ), calls AS MATERIALIZED (
    SELECT page.id, input_tokens, output_tokens, cost
    FROM page CROSS JOIN LATERAL unnest(page.ids) AS own (trace_id)
    JOIN ${countedCallsSql} ON counted.account_id = $1 AND counted.trace_id = own.trace_id LIMIT ${maxSummedCalls + 1}
  ), summed AS (
    SELECT id, ${sumSql("input_tokens")}, ${sumSql("output_tokens")}, ${costSql("count(cost)")} FROM calls GROUP BY id
  )
  SELECT page.id, user_id, sessions, traces, failures, ${isoText("first_at")} AS first_at, ${isoText("page.last_at")} AS last_at,
    COALESCE(input_tokens, 0) AS input_tokens, COALESCE(output_tokens, 0) AS output_tokens, cost_usd,
    (SELECT count(*)::int FROM examined) AS examined, (SELECT count(*)::int FROM calls) AS summed
  FROM page LEFT JOIN summed USING (id) ORDER BY page.last_at DESC, page.id DESC`;

const listStatements = {
  session_id: { name: "list-sessions", text: listSumsSql("session_id") },
  user_id: { name: "list-users", text: listSumsSql("user_id") },
} as const;

type Row = Session & User & { examined: number; summed: number };

async function listSums(pool: pg.Pool, owner: Owner, query: SumsToList) {
  const { accountId, from, to, agentId = null, userId = null, environment = null, after, limit } = query;
  await settleCalls(pool, accountId);
  const filters = [agentId, userId, environment, after.lastAt, after.id, limit + 1];
  const values = [accountId, from, to, maxCountedTraces + 1, ...filters];
  const { rows } = await pool.query<Row>({ ...listStatements[owner], values });
  checkExamined(rows, from, to);
  return pageOf(rows, limit, ({ last_at, id }) => `${last_at} ${id}`);
}

/** Conversations, the latest first. @throws AppError 400 on `from` if the range has more than {@link maxCountedTraces} traces */
export async function listSessions(pool: pg.Pool, query: SumsToList) {
  const { page, next_cursor } = await listSums(pool, "session_id", query);
  return { sessions: page.map((row) => membersIn(sessionSchema, row)), next_cursor };
}

/** Users, the latest first. @throws AppError 400 on `from` if the range has more than {@link maxCountedTraces} traces */
export async function listUsers(pool: pg.Pool, query: SumsToList) {
  const { page, next_cursor } = await listSums(pool, "user_id", query);
  return { users: page.map((row) => membersIn(userSchema, row)), next_cursor };
}
