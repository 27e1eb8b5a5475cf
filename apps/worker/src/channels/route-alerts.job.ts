import { routeAlerts } from "@waymark/alerts";
import type pg from "pg";

interface RouteDeps {
  pool: pg.Pool;
  /** Messages of a channel for people in an hour. */
  perHour: number;
  /** Starts to deliver what was routed. */
  deliver(): Promise<void>;
  isStopping(): boolean;
}

/** Deliveries that a channel with each failure is owed at most. */
const maxPendingDeliveries = 20_000;

/** Gives new alerts, of one account or of all, to their channels. Accounts without settings have none, and cost one probe. */
export function createRouteAlerts({ pool, perHour, deliver, isStopping }: RouteDeps) {
  return async (accountId?: string): Promise<{ routed: number }> => {
    const limits = { perHour, pending: maxPendingDeliveries };
    const routed = await routeAlerts(pool, { accountId, limits, isStopping });
    if (routed > 0) void deliver().catch(() => undefined);
    return { routed };
  };
}
