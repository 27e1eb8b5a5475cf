import type pg from "pg";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

export function createRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export function createAccepted<Kind extends string>(registry: Registry, kinds: readonly Kind[]) {
  const counter = new Counter({
    name: "waymark_accepted_total",
    help: "Traces, spans and events committed and answered with success",
    labelNames: ["kind"],
    registers: [registry],
  });
  for (const kind of kinds) counter.inc({ kind }, 0);
  return (kind: Kind, count: number) => counter.inc({ kind }, count);
}

/** Shows a connection pool's connections by state; `waiting` above 0 for long means a pool too small. */
export function observePool(registry: Registry, pool: pg.Pool): void {
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
