import { principalOf } from "@waymark/auth";
import { AppError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import {
  agentScoresQuerySchema,
  agentScoresToRead,
  fewWaiting,
  oneByOne,
  readAgentScores,
  scoreSummarySchema,
  type TimedBatching,
} from "@waymark/traces";
import { z } from "zod";
import { agentNotFound } from "../answers.js";
import { agentIdOf, agentIdParameter } from "../path-ids.js";

const agentScoresSchema = named("AgentScores", z.object({ scores: z.array(scoreSummarySchema) }));

export function readAgentScoresRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "read-agent-scores", readAgentScores, fewWaiting);
  return route({
    method: "get",
    scope: "read",
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
      const scores = await read(agentScoresToRead(of, query, deps.now()));
      if (scores === undefined) throw new AppError("agent_not_found");
      return { status: 200, body: { scores } };
    },
  });
}
