import { failureSchema, failuresToList, listFailures } from "@waymark/traces";
import { type ExportDeps, exportRoute, keysOf } from "../exports/export-route.js";
import { failureListQuery } from "./failure-list.schema.js";

export function failureExports(deps: ExportDeps) {
  return [
    exportRoute(deps, {
      name: "failures",
      query: failureListQuery,
      columns: keysOf(failureSchema),
      async read(accountId, { state, ...query }) {
        const asked = { ...failuresToList(accountId, query, deps.now()), isResolved: state === "resolved" };
        const { failures: rows, next_cursor: next } = await listFailures(deps.pool, asked);
        return { rows, next };
      },
    }),
  ];
}
