import { principalOf } from "@waymark/auth";
import type { CreateGroupCommit } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import {
  type AgentScoresToRead,
  agentScoresQuerySchema,
  agentScoresToRead,
  readAgentScores,
  type ScoreSummary,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { agentIdOf, agentIdParameter } from "../agents/agent-id.js";
import { agentNotFound } from "../answers.js";
import { slowReads } from "../batching/one-at-a-time.js";
import { scoreValueSchema } from "./score.schema.js";

const agentScoresSchema = named(
  "AgentScores",
  z.object({
    scores: z.array(
      z.object({
        name: z.string(),
        count: z.number(),
        mean: z.number().optional().describe("Of numbers, and the share of true"),
        values: z
          .array(z.object({ value: scoreValueSchema, count: z.number() }))
          .optional()
          .describe("The most frequent texts, or true and false"),
      }),
    ),
  }),
);

/** `GET /agents/:agent_id/scores`: the scores of an agent's traces by name. */
export function readAgentScoresRoute({
  pool,
  createGroupCommit,
  now,
}: {
  pool: pg.Pool;
  createGroupCommit: CreateGroupCommit;
  now(): Date;
}) {
  const read = createGroupCommit<AgentScoresToRead, ScoreSummary[] | undefined>({
    name: "read-agent-scores",
    run: (queries) => Promise.all(queries.map((query) => readAgentScores(pool, query))),
    ...slowReads,
  });
  return route({
    method: "get",
    path: "/agents/:agent_id/scores",
    operationId: "readAgentScores",
    summary: "Sum up the scores of an agent's traces by name",
    description:
      "Scores of spans count too. Numbers have a mean, texts their 20 most frequent values, booleans both. A name with several kinds of values has an entry for each.",
    params: agentIdParameter,
    query: agentScoresQuerySchema,
    answers: {
      200: {
        description: "The scores by name",
        schema: agentScoresSchema,
        example: {
          scores: [
            { name: "helpful", count: 120, mean: 0.82 },
            {
              name: "topic",
              count: 3,
              values: [
                { value: "refund", count: 2 },
                { value: "delivery", count: 1 },
              ],
            },
          ],
        },
      },
      404: agentNotFound,
    },
    async handle({ params, query, response }) {
      const of = { accountId: principalOf(response).accountId, agentId: agentIdOf(params) };
      const scores = await read(agentScoresToRead(of, query, now()));
      if (scores === undefined) throw new AppError("agent_not_found");
      return { status: 200, body: { scores } satisfies z.output<typeof agentScoresSchema> };
    },
  });
}
