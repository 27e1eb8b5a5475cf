import { principalOf } from "@waymark/auth";
import { isUuid, smallestUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { errorSchema, named, route } from "@waymark/service/http";
import {
  agentScoresQuerySchema,
  agentScoresToRead,
  bytesOfScore,
  createScoreAdder,
  fewWaiting,
  maxScoresPerTrace,
  newScoreSchema,
  oneByOne,
  readAgentScores,
  requireStored,
  scoreSummarySchema,
  type TimedBatching,
} from "@waymark/traces";
import { z } from "zod";
import { agentNotFound, replayed, replayHeaders, spanNotFound } from "../answers.js";
import type { IdempotencyGuard } from "../idempotency/idempotency-guard.js";
import { agentIdOf, agentIdParameter, traceIdOf, traceIdParameter } from "../path-ids.js";
import type { ByteReserve } from "../usage/byte-reserve.js";
import { byteHeaderNames, byteHeaders, byteLimitError, bytesAreUsedUp, senderOf } from "../usage/trace-quota.js";

interface AddScoreDeps extends TimedBatching {
  reserve: Pick<ByteReserve, "ahead">;
  guardIdempotency: IdempotencyGuard;
  uuid(): string;
}

/** `POST /traces/:trace_id/scores` and `POST /traces/:trace_id/spans/:span_id/scores`. */
export function addScoreRoutes(deps: AddScoreDeps) {
  const addScore = createScoreAdder(deps, { takesKeys: true });
  const scoreRoute = (of: "trace" | "span") =>
    route({
      method: "post",
      scope: "ingest",
      path: of === "trace" ? "/traces/:trace_id/scores" : "/traces/:trace_id/spans/:span_id/scores",
      operationId: of === "trace" ? "addScore" : "addSpanScore",
      summary: `Add a score to a ${of}`,
      description: `Feedback or an evaluation. A trace has at most ${maxScoresPerTrace} scores, those of its spans included; scores of one name stand side by side.`,
      params: of === "trace" ? traceIdParameter : { ...traceIdParameter, span_id: "The id of the span" },
      body: named("NewScore", newScoreSchema),
      takesIdempotencyKey: true,
      bodyExample: { name: "helpful", value: 0.8, comment: "Found the order at once" },
      answers: {
        201: {
          description: "The score is committed",
          schema: z.object({ score_id: z.string() }),
          example: { score_id: "019c13f2-7d00-7aa1-8d1c-3b0f9e0c4a11" },
          headers: [...byteHeaderNames, ...replayHeaders],
        },
        ...(of === "span" && { 404: spanNotFound }),
        409: {
          description: "The trace has its scores, or the first request with this `Idempotency-Key` has no answer yet",
          schema: errorSchema({ limit: z.number().optional() }),
          example: { error: "The trace has no room for another score", limit: maxScoresPerTrace },
        },
        429: bytesAreUsedUp,
      },
      async handle({ params, body, idempotency, response }) {
        const { accountId, plan, month } = senderOf(response, deps.now());
        const traceId = traceIdOf(params);
        const spanId = of === "trace" ? null : (params["span_id"] ?? "").toLowerCase();
        // No span has the smallest id, and the trace's own 404 comes first.
        const ofSpan = { spanId: spanId === null || isUuid(spanId) ? spanId : smallestUuid };
        const counted = { plan, month: month.firstDay, bytes: bytesOfScore(body) };
        const score = { accountId, traceId, ...ofSpan, id: deps.uuid(), ...counted, score: body, idempotency };
        const added = await deps.guardIdempotency(accountId, idempotency, () => addScore(score));
        const result = requireStored(added, (usedBytes) => byteLimitError({ plan, month }, usedBytes));
        return {
          status: 201,
          headers: { ...byteHeaders({ plan }, result, deps.reserve.ahead(accountId)), ...replayed(result) },
          body: { score_id: result.id },
        };
      },
    });
  return [scoreRoute("trace"), scoreRoute("span")];
}

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
            { name: "helpful", count: 120, given_by_hand: 20, mean: 0.82 },
            {
              name: "topic",
              count: 3,
              given_by_hand: 0,
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
