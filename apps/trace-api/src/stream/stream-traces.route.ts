import { bearerToken, type KeyDirectory, principalOf } from "@waymark/auth";
import { createShares, type Refusals, route } from "@waymark/service/http";
import { traceFilter, traceFilterSchema } from "@waymark/traces";
import { z } from "zod";
import { leaveHand } from "../limits/admission.js";
import { readEventId } from "./frames.js";
import type { TraceFeed } from "./trace-feed.js";

/** Each holds a connection, of which an instance has 4,000. An account without a stream finds a place beside a hundred with all of theirs. */
const limits = { total: 2_400, perAccount: 20, keptForNew: 400 } as const;

const example = `event: trace
id: t5h2ko.8412:8412:
data: {"id":"019c13f2-6c00-7cc3-98c4-dc0c0c07398f","agent_id":"billing-agent","name":"Refund order 1042","status":"running","started_at":"2026-01-31T12:00:00.000Z","ended_at":null,"duration_ms":null}

`;

interface StreamTracesDeps {
  feed: TraceFeed;
  keys: Pick<KeyDirectory, "find">;
  refusals: Refusals;
  now(): Date;
}

/** `GET /traces/stream`: new traces and changes of status, as they come. */
export function streamTracesRoute({ feed, keys, refusals, now }: StreamTracesDeps) {
  const reason = (most: number) => `At most ${most} live streams may be open`;
  const shares = createShares({ name: "streams", ...limits, reason }, refusals);
  return route({
    method: "get",
    scope: "read",
    path: "/traces/stream",
    operationId: "streamTraces",
    summary: "Follow new traces and changes of status",
    description:
      "Server-Sent Events: `trace`, with the list's entry as data, within about a second of the commit. Changes that follow each other within that second are one event. Without `Last-Event-ID` the stream begins with what comes from now on; with it, it goes on without gap or repeat. An id older than 24 hours, or unknown, gets an event `reset`, and the stream begins anew. A comment comes every 10 seconds. An account may have 20 streams open on an instance; a further one gets 429 with `reason`. A stream ends when its client reads too slowly; go on with `Last-Event-ID`.",
    query: traceFilterSchema,
    headers: {
      "Last-Event-ID": { description: "The `id` of the last event", example: "t5h2ko.8412:8412:" },
    },
    answers: {
      200: { description: "The stream", contentType: "text/event-stream", schema: z.string(), example },
    },
    async handle({ query, request, response }) {
      const { accountId } = principalOf(response);
      const refusal = shares.take(accountId, 1);
      if (refusal) throw refusal;
      response.once("close", () => shares.give(accountId, 1));
      leaveHand(response);
      const key = bearerToken(request.headers.authorization) ?? "";
      const id = request.headers["last-event-id"];
      const after = typeof id === "string" && id !== "" ? readEventId(id, now().getTime()) : undefined;
      const matches = traceFilter(query);
      const isAllowed = () => keys.find(key);
      const { text, end } = feed.listen({ accountId, matches, isAllowed, cut: () => response.destroy() }, after);
      response.once("close", end);
      // Proxies neither keep nor compress it.
      const headers = { "Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no" };
      return { status: 200, headers, contentType: "text/event-stream", body: text };
    },
  });
}
