import { alertStates, readAlertPage } from "@waymark/alerts";
import { z } from "zod";
import { type ExportDeps, exportRoute } from "../exports/export-route.js";

const alertColumns = ["id", "state", "status", "failures", "attempts", "reason", "created_at", "due_at", "held_until"];

export function alertExports(deps: ExportDeps) {
  return [
    exportRoute(deps, {
      name: "alerts",
      query: z.object({ state: z.enum(alertStates).optional(), cursor: z.uuid().optional() }),
      columns: [...alertColumns, "sent_at", "failed_at", "trace_id", "trace_name", "agent_id"],
      async read(accountId, { cursor: before, ...query }) {
        const { alerts, hasMore } = await readAlertPage(deps.pool, { accountId, ...query, before });
        const rows = alerts.map(
          ({ trace, isInSummary: _, createdAt, dueAt, heldUntil, sentAt, failedAt, ...alert }) => ({
            ...alert,
            created_at: createdAt,
            due_at: dueAt,
            held_until: heldUntil,
            sent_at: sentAt,
            failed_at: failedAt,
            trace_id: trace.id,
            trace_name: trace.name,
            agent_id: trace.agentId,
          }),
        );
        return { rows: rows.map(withTexts), next: hasMore ? (alerts.at(-1)?.id ?? null) : null };
      },
    }),
  ];
}

/** Moments as JSON has them: CSV would write their milliseconds. */
function withTexts(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(entries);
}
