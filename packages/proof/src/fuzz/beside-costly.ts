import type { System } from "../system/start-system.js";
import type { Operation } from "./operations.js";
import { fillSite, planCostly } from "./plan-costly.js";
import { complete, planRequests } from "./run-fuzz.js";
import { send } from "./send.js";
import { createTenant } from "./tenant.js";

/** Costly requests in flight at a time. */
const concurrency = 6;

interface CostlyOptions {
  operations: readonly Operation[];
  seed: number;
}

/** Runs work while another account sends requests at the maxima of their limits. */
export async function besideCostly(
  system: System,
  { operations, seed }: CostlyOptions,
  run: () => Promise<unknown>,
): Promise<void> {
  const tenant = await createTenant(system, `costly-${seed}`);
  await fillSite(system.url("collector"), tenant);
  const plan = planRequests(planCostly(operations), seed, 20);
  let isOver = false;
  const attack = async () => {
    while (!isOver) {
      const { operation, planned } = plan();
      await send(complete(operation, planned, tenant, system)).catch(() => undefined);
    }
  };
  const attackers = Promise.all(Array.from({ length: concurrency }, attack));
  try {
    await run();
  } finally {
    isOver = true;
    await attackers;
  }
}
