import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { createRefusals, createShares, pageRoute } from "@waymark/service/http";
import { type ContentName, contentNames, fieldOf, readContent } from "@waymark/traces";
import type pg from "pg";
import type { Registry } from "prom-client";
import { viewerOf } from "../session/viewer.js";
import { traceIdOf } from "./trace-id.js";

const isContent = (name: string): name is ContentName => (contentNames as readonly string[]).includes(name);

/** A value is held in memory until the browser took it. */
const downloadLimits = {
  name: "content_downloads",
  total: 4,
  perAccount: 2,
  reason: (most: number) => `At most ${most} downloads of contents may be under way`,
};

/** `GET /traces/:id/spans/:span_id/:content`: one part of a span's contents, the bytes that were sent, as a download. */
export function getContentRoute({ pool, registry }: { pool: pg.Pool; registry: Registry }) {
  const downloads = createShares(downloadLimits, createRefusals(registry));
  return pageRoute({
    method: "get",
    path: "/traces/:id/spans/:span_id/:content",
    async handle({ params, response }) {
      const { accountId } = viewerOf(response);
      const traceId = traceIdOf(params);
      const { span_id: spanId = "", content: name = "" } = params;
      if (!isUuid(spanId) || !isContent(name)) throw new AppError("span_not_found");
      const refusal = downloads.take(accountId, 1);
      if (refusal) throw refusal;
      response.once("close", () => downloads.give(accountId, 1));
      const body = await readContent(pool, { accountId, traceId, spanId, name });
      if (body === undefined) throw new AppError("span_not_found");
      const [extension, media] = fieldOf(name).type === "json" ? ["json", "application/json"] : ["txt", "text/plain"];
      const headers = { "Content-Disposition": `attachment; filename="span-${spanId}-${name}.${extension}"` };
      const contentType = `${media}; charset=utf-8`;
      return { status: 200, headers, contentType, body };
    },
  });
}
