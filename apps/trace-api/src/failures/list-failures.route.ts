import { principalOf } from "@waymark/auth";
import { named, route } from "@waymark/service/http";
import {
  type FailurePage,
  type FailuresToList,
  failureQuerySchema,
  failuresToList,
  listFailures,
  presentFailurePage,
  timestamp,
} from "@waymark/traces";
import { z } from "zod";
import { slowReads } from "../batching/one-at-a-time.js";
import type { TimedReads } from "../batching/timed-reads.js";

const failureSchema = named(
  "Failure",
  z.object({
    id: z.string(),
    agent_id: z.string(),
    span_name: z
      .string()
      .nullable()
      .describe("The innermost failing span's name without numbers, ids and quotations; null without one"),
    error: z.string().nullable().describe("Its error without them; statuses, exit codes and classes of errors stay"),
    count: z.number().describe("Failed traces of the range"),
    first_at: timestamp.describe("The first end of a trace; its start where it has no end"),
    last_at: timestamp,
    trace_id: z.string().describe("The trace that ended last"),
    muted_until: timestamp.nullable().describe("The end of its mute, in the year 9999 for good; null if not muted"),
  }),
);

const failuresSchema = named(
  "FailurePage",
  z.object({ failures: z.array(failureSchema), next_cursor: z.string().nullable() }),
);

/** `GET /failures`: failed traces by what went wrong, most frequent first. */
export function listFailuresRoute({ pool, createGroupCommit, now }: TimedReads) {
  const readPage = createGroupCommit<FailuresToList, FailurePage>({
    name: "list-failures",
    run: (queries) => Promise.all(queries.map((query) => listFailures(pool, query))),
    ...slowReads,
  });
  return route({
    method: "get",
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
      const page = await readPage(failuresToList(principalOf(response).accountId, query, now()));
      return { status: 200, body: presentFailurePage(page) satisfies z.output<typeof failuresSchema> };
    },
  });
}
