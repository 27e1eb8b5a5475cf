import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import {
  type Batching,
  fewWaiting,
  listSessions,
  listUsers,
  oldestCursor,
  oneByOne,
  readSession,
  sessionQuerySchema,
  sessionSchema,
  sessionSummarySchema,
  sessionTracesQuerySchema,
  sumsToList,
  traceAnswers,
  turnSchema,
  userQuerySchema,
  userSchema,
} from "@waymark/traces";
import { z } from "zod";
import { sessionNotFound } from "../answers.js";
import { sessionIdOf, sessionIdParameter } from "../path-ids.js";
import { exampleTrace } from "../traces/trace-answer.schema.js";

const next_cursor = z.string().nullable();

const exampleSums = {
  traces: 12,
  failures: 1,
  first_at: "2026-01-30T08:15:00.000Z",
  last_at: "2026-01-31T12:00:04.250Z",
  input_tokens: 12_040,
  output_tokens: 1_820,
  cost_usd: "0.0483",
};
const { traces: _, ...exampleSummary } = { id: "chat-7", user_id: "u-42", ...exampleSums };

const about =
  "The latest first, by the end of the last trace. Counts the traces that started from `from` up to `to`, all where omitted, and their model calls. An owner that gets a new trace moves to the front; the pages behind it go on.";

export function listSessionsRoute(deps: Batching) {
  const read = oneByOne(deps, "list-sessions", listSessions, fewWaiting);
  return route({
    method: "get",
    path: "/sessions",
    scope: "read",
    operationId: "listSessions",
    summary: "List conversations",
    description: about,
    query: sessionQuerySchema,
    answers: {
      200: {
        description: "A page of conversations",
        schema: named("SessionPage", z.object({ sessions: z.array(named("Session", sessionSchema)), next_cursor })),
        example: { sessions: [{ id: "chat-7", user_id: "u-42", ...exampleSums }], next_cursor: null },
      },
    },
    async handle({ query, response }) {
      return { status: 200, body: await read(sumsToList(principalOf(response).accountId, query)) };
    },
  });
}

export function listUsersRoute(deps: Batching) {
  const read = oneByOne(deps, "list-users", listUsers, fewWaiting);
  return route({
    method: "get",
    path: "/users",
    scope: "read",
    operationId: "listUsers",
    summary: "List users",
    description: about,
    query: userQuerySchema,
    answers: {
      200: {
        description: "A page of users",
        schema: named("UserPage", z.object({ users: z.array(named("User", userSchema)), next_cursor })),
        example: { users: [{ id: "u-42", sessions: 3, ...exampleSums }], next_cursor: null },
      },
    },
    async handle({ query, response }) {
      return { status: 200, body: await read(sumsToList(principalOf(response).accountId, query)) };
    },
  });
}

const sessionTracesSchema = named(
  "SessionTraces",
  z.object({
    ...sessionSummarySchema.shape,
    traces: z.array(z.object({ ...traceAnswers.listed, duration_ms: z.number().nullable(), ...turnSchema })),
    next_cursor,
  }),
);

export function readSessionRoute(deps: Batching) {
  const read = oneByOne(deps, "read-session", readSession, fewWaiting);
  return route({
    method: "get",
    path: "/sessions/:session_id",
    scope: "read",
    operationId: "readSession",
    summary: "Read a conversation",
    description: "The traces of a conversation, oldest first, with the first input and the last output of each.",
    params: sessionIdParameter,
    query: sessionTracesQuerySchema,
    answers: {
      200: {
        description: "A page of the conversation",
        schema: sessionTracesSchema,
        example: {
          ...exampleSummary,
          traces: [
            {
              ...exampleTrace,
              duration_ms: 4250,
              input: "Refund order 1042, please",
              output: "The refund is on its way.",
              input_tokens: 1_042,
              output_tokens: 80,
              cost_usd: "0.003405",
            },
          ],
          next_cursor: null,
        },
      },
      404: sessionNotFound,
    },
    async handle({ params, query, response }) {
      const { accountId } = principalOf(response);
      const { limit, cursor: after = oldestCursor } = query;
      const session = await read({ accountId, sessionId: sessionIdOf(params), after, limit });
      if (!session) throw new AppError("session_not_found");
      return { status: 200, body: session };
    },
  });
}
