import { AppError } from "@waymark/errors";
import { pageRoute } from "@waymark/service/http";
import { findOtelTrace } from "@waymark/traces";
import type pg from "pg";
import { viewerOf } from "../session/viewer.js";
import type { FoundTrace } from "./traces.schema.js";

/** `GET /traces/otel/:otel_trace_id`: the trace with an id of OpenTelemetry, 32 hexadecimal digits. */
export function findOtelTraceRoute({ pool }: { pool: pg.Pool }) {
  return pageRoute({
    method: "get",
    path: "/traces/otel/:otel_trace_id",
    async handle({ params, response }) {
      const { accountId } = viewerOf(response);
      const digits = params["otel_trace_id"] ?? "";
      const id = /^[0-9a-f]{32}$/i.test(digits) ? await findOtelTrace(pool, accountId, digits) : undefined;
      if (id === undefined) throw new AppError("trace_not_found");
      return { status: 200, body: { id } satisfies FoundTrace };
    },
  });
}
