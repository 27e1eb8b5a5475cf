import { setMaxListeners } from "node:events";
import { attackConnections, attacks, type Target } from "./attacks.js";

/** Attacks until its parent stops it, in its own process so that the load does not slow the measuring one. */
process.once("message", (order: { name: string; target: Target }) => {
  const attack = attacks[order.name];
  if (!attack) throw new Error(`There is no attack '${order.name}'`);
  const stop = new AbortController();
  setMaxListeners(2 * attackConnections, stop.signal);
  const statuses = new Map<string, number>();
  process.once("message", async () => {
    stop.abort();
    process.send?.(Object.fromEntries(statuses), () => process.exit());
  });
  process.once("disconnect", () => process.exit());
  void attack(order.target, stop.signal, (status) => statuses.set(status, (statuses.get(status) ?? 0) + 1));
});
