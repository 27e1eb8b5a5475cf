import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  failureQuerySchema,
  failureSchema,
  failuresToList,
  fewWaiting,
  listFailures,
  oneByOne,
  type TimedBatching,
} from "@waymark/traces";
import { z } from "zod";

const failuresSchema = named(
  "FailurePage",
  z.object({ failures: z.array(named("Failure", failureSchema)), next_cursor: z.string().nullable() }),
);

export function listFailuresRoute(deps: TimedBatching) {
  const read = oneByOne(deps, "list-failures", listFailures, fewWaiting);
  return route({
    method: "get",
    scope: "read",
    path: "/failures",
    operationId: "listFailures",
    summary: "List what went wrong in failed traces, most frequent first",
    description:
      'Groups traces with `error` or `timeout` that started from `from` up to `to` by agent, innermost failing span and error. In the error numbers become `N`, UUIDs and long hexadecimal `ID`, quoted text `"…"`; 300 characters stay. Repeat `from` and `to` to read further pages of the same range.',
    query: failureQuerySchema,
    answers: {
      200: {
        description: "A page of groups",
        schema: failuresSchema,
        example: {
          failures: [
            {
              id: "5b7c1b0e-6b5f-8d43-9a51-0d7f4a1f3c55",
              agent_id: "billing-agent",
              span_name: "get_order",
              error: 'Order N of "…" not found',
              count: 12,
              first_at: "2026-01-30T08:00:00.000Z",
              last_at: "2026-01-31T12:00:04.250Z",
              trace_id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f",
              muted_until: null,
            },
          ],
          next_cursor: null,
        },
      },
    },
    async handle({ query, response }) {
      return { status: 200, body: await read(failuresToList(principalOf(response).accountId, query, deps.now())) };
    },
  });
}
