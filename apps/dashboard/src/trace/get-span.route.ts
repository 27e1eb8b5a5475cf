import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { readSpan } from "@waymark/traces";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import { compressedJson } from "./compressed.js";
import { traceIdOf } from "./trace-id.js";

/** `GET /traces/:id/spans/:span_id`: a span's contents as the texts that were sent. */
export function getSpanRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/traces/:id/spans/:span_id",
    async handle({ params, request, response }) {
      const { accountId } = viewerOf(response);
      const traceId = traceIdOf(params);
      const spanId = params["span_id"] ?? "";
      const span = isUuid(spanId) ? await readSpan(pool, { accountId, traceId, spanId }) : undefined;
      if (!span) throw new AppError("span_not_found");
      return compressedJson(request, JSON.stringify(span));
    },
  });
}
