import { pageRoute } from "@waymark/service/http";
import { failureQuerySchema, failuresToList, listFailures, presentFailurePage } from "@waymark/traces";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { FailureList } from "./failures.schema.js";

/** `GET /failures`: failed traces by what went wrong, most frequent first. */
export function listFailuresRoute({ pool, now }: { pool: pg.Pool; now(): Date }) {
  return pageRoute({
    method: "get",
    path: "/failures",
    query: failureQuerySchema,
    async handle({ query, response }) {
      const asked = failuresToList(viewerOf(response).accountId, query, now());
      return { status: 200, body: presentFailurePage(await listFailures(pool, asked)) satisfies FailureList };
    },
  });
}
