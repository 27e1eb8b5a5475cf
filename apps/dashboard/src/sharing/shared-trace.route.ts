import { AppError } from "@waymark/errors";
import { outlineQuery, readTraceRoutes } from "../trace/trace.route.js";
import { linkOf } from "./opened-link.js";

/** Below `/dashboard/api/shared`. Account and trace come from the link, never from the request. */
export function sharedTraceRoutes(deps: Parameters<typeof readTraceRoutes>[0]) {
  return readTraceRoutes(deps, {
    base: "/:token",
    query: outlineQuery,
    subjectOf({ response }) {
      const { accountId, traceId } = linkOf(response);
      if (traceId === undefined) throw new AppError("not_found");
      return { accountId, traceId, isShared: true };
    },
  });
}
