import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** A registry with Node's own metrics, labelled with the service. */
export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

/** The counts of a `pg.Pool`. */
export interface PoolCounts {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** Shows a connection pool's connections by state; `waiting` above 0 for long means a pool too small. */
export function observePool(registry: Registry, pool: PoolCounts): void {
  new Gauge({
    name: "waymark_database_connections",
    help: "Connections of the pool by state, and statements that wait for one",
    labelNames: ["state"],
    registers: [registry],
    collect() {
      this.set({ state: "idle" }, pool.idleCount);
      this.set({ state: "busy" }, pool.totalCount - pool.idleCount);
      this.set({ state: "waiting" }, pool.waitingCount);
    },
  });
}
