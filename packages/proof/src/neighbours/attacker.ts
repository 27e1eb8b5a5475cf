import { setMaxListeners } from "node:events";
import { attacks, type Target } from "./attacks.js";

/** Attacks until its parent stops it, in its own process so that the load does not slow the measuring one. */
process.once("message", (order: { index: number; target: Target }) => {
  const attack = attacks[order.index];
  if (!attack) throw new Error(`There is no attack ${order.index}`);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const statuses = new Map<string, number>();
  process.once("message", async () => {
    stop.abort();
    process.send?.(Object.fromEntries(statuses), () => process.exit());
  });
  process.once("disconnect", () => process.exit());
  void attack.run(order.target, stop.signal, (status) => statuses.set(status, (statuses.get(status) ?? 0) + 1));
});
