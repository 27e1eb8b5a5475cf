import type pg from "pg";
import { Gauge, type Registry } from "prom-client";
import { NotReadyError } from "./readiness.js";

interface Row {
  commit: string;
  names: string;
  is_connected: boolean;
}

/**
 * Whether a commit waits for a second machine, by settings and by the standbys connected to this server. A role without
 * `pg_read_all_stats` sees no more of a standby than its presence.
 */
const standbySql = `
  SELECT current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS names,
    EXISTS (SELECT FROM pg_stat_replication WHERE COALESCE(sync_state, 'sync') IN ('sync', 'quorum')) AS is_connected`;

/** @throws NotReadyError saying why commits are on one machine only */
export async function checkStandby(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<Row>(standbySql);
  const [row] = rows;
  if (!row) throw new NotReadyError("Postgres did not answer");
  if (row.names === "") throw new NotReadyError("writes are on one machine: synchronous_standby_names is empty");
  if (["off", "local"].includes(row.commit))
    throw new NotReadyError(`writes are on one machine: synchronous_commit is ${row.commit}`);
  if (!row.is_connected) throw new NotReadyError("writes wait: no synchronous standby is connected");
}

/** Shows as a metric whether {@link checkStandby} passes. */
export function observeStandby(registry: Registry, check: () => Promise<void>): void {
  new Gauge({
    name: "waymark_synchronous_standby",
    help: "1 while commits wait for a synchronous standby that is connected, else 0",
    aggregator: "min",
    registers: [registry],
    async collect() {
      const isOk = await check().then(
        () => true,
        () => false,
      );
      this.set(isOk ? 1 : 0);
    },
  });
}
