import { listPeople } from "@waymark/accounts/identity";
import {
  failuresToList,
  failureTracesQuerySchema,
  listFailures,
  listFailureTraces,
  presentTracePage,
  readFailure,
} from "@waymark/traces";
import { z } from "zod";
import type { AppDeps } from "../app-deps.js";
import { type AnswerOf, viewerRoute } from "../session/viewer.js";
import type { ReadRows } from "../traces/list-rows.js";
import { failureListQuery } from "./failure-list.schema.js";

export type FailureList = AnswerOf<typeof failureRoutes, "get /failures">;
export type ListedFailure = FailureList["failures"][number];
export type FailureDetail = AnswerOf<typeof failureRoutes, "get /failures/:failure_id">;

const usualDays = 30;

const detailQuery = z.object({
  days: z
    .enum(["1", "7", `${usualDays}`])
    .default(`${usualDays}`)
    .transform(Number),
});

export function failureRoutes({ pool, now, readRows }: AppDeps & { readRows: ReadRows }) {
  return [
    viewerRoute("get", "/failures", {
      query: failureListQuery,
      handle: ({ viewer: { accountId }, query: { state, ...query } }) =>
        listFailures(pool, { ...failuresToList(accountId, query, now()), isResolved: state === "resolved" }),
    }),
    viewerRoute("get", "/failures/:failure_id", {
      query: detailQuery,
      async handle({ viewer: { accountId }, params: { failure_id: failureId = "" }, query: { days } }) {
        const asked = { accountId, failureId, ...daysBefore(now(), days) };
        const { assigned_to: assignedTo, ...failure } = await readFailure(pool, asked);
        const people = (await listPeople(pool, accountId)).map(({ id, name, email }) => ({ id, name, email }));
        return {
          ...failure,
          from: asked.from.slice(0, 10),
          people,
          // Somebody who left is nobody.
          assignedTo: people.find(({ id }) => id === assignedTo)?.id ?? null,
        };
      },
    }),
    viewerRoute("get", "/failures/:failure_id/traces", {
      query: failureTracesQuerySchema,
      async handle({ viewer: { accountId }, params: { failure_id: failureId = "" }, query }) {
        const page = presentTracePage(await listFailureTraces(pool, { accountId, failureId, ...query }));
        const [traces = []] = await readRows({ accountId, lists: [page.traces] });
        return { traces, nextCursor: page.next_cursor };
      },
    }),
  ];
}

const dayMs = 86_400_000;

/** The present UTC day and those before. */
function daysBefore(now: Date, days: number) {
  const today = Math.floor(now.getTime() / dayMs);
  return { from: new Date((today - days + 1) * dayMs).toISOString(), to: now.toISOString() };
}
