import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createRefusals, createWorkShares, pageRoute } from "@waymark/service/http";
import { readOutline } from "@waymark/traces";
import type pg from "pg";
import type { Registry } from "prom-client";
import { z } from "zod";
import { viewerOf } from "../session/viewer.js";
import { compressedJson } from "./compressed.js";
import { traceIdOf } from "./trace-id.js";

const maxIds = 100;
const uuid = z.string().refine(isUuid, "Must be an id");
const uuids = z
  .string()
  .transform((text) => text.split(",").filter(Boolean))
  .pipe(z.array(uuid).max(maxIds, `At most ${maxIds} ids`));

const querySchema = z.object({ after: uuid.optional(), ids: uuids.optional() });

/** A page of 5,000 spans takes some megabytes while it is made, and most of a processor. */
const outlineLimits = {
  tasks: "outlines",
  owner: "account",
  maxRunning: 2,
  maxRunningPerOwner: 2,
  maxWaiting: 200,
  maxWaitingPerOwner: 40,
  maxWaitMs: 10_000,
};

/** `GET /traces/:id/outline`: the trace and a page of its spans without contents, or what changed of them. */
export function getOutlineRoute({ pool, registry }: { pool: pg.Pool; registry: Registry }) {
  const shares = createWorkShares(outlineLimits, createRefusals(registry));
  return pageRoute({
    method: "get",
    path: "/traces/:id/outline",
    query: querySchema,
    async handle({ params, query: { after, ids }, request, response }) {
      const { accountId } = viewerOf(response);
      const traceId = traceIdOf(params);
      const read = async () => {
        const outline = await readOutline(pool, { accountId, traceId, after, ids });
        if (!outline) throw new AppError("trace_not_found");
        return compressedJson(request, outline);
      };
      return shares.run(accountId, read, () => response.destroyed);
    },
  });
}
