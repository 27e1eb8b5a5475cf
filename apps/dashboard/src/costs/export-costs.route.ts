import { daysQuerySchema, modelUsageToRead, readUsageTables } from "@waymark/traces";
import { type ExportDeps, exportRoute } from "../exports/export-route.js";

export function costExports(deps: ExportDeps) {
  return [
    exportRoute(deps, {
      name: "costs",
      query: daysQuerySchema,
      columns: ["day", "calls", "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"],
      async read(accountId, query) {
        const asked = modelUsageToRead(accountId, query, deps.now());
        const { series } = await readUsageTables(deps.pool, { ...asked, interval: "day" });
        return { rows: series, next: null };
      },
    }),
  ];
}
