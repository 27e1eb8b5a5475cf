import { setTimeout as wait } from "node:timers/promises";
import { runLoad } from "../load/agents.js";
import { auditRows, type Findings } from "../load/audit.js";
import { createClient } from "../load/client.js";
import { readMemory } from "../load/memory.js";
import { percentile } from "../load/percentile.js";
import { runQuiet } from "../load/quiet.js";
import type { Addresses } from "../load/stage.js";
import { makeTenant, type Tenant } from "../load/tenant.js";
import type { Fault, Scene } from "./fault.js";
import { measureRecovery } from "./recovery.js";

const aroundMs = 1_000;
const memoryEveryMs = 250;

/** What one fault did. */
export interface Trial extends Findings {
  readonly fault: string;
  readonly requests: number;
  readonly acknowledged: number;
  readonly refused: number;
  readonly broken: number;
  readonly hung: number;
  /** Answers that no fault excuses, with their numbers. */
  readonly wrong: Readonly<Record<string, number>>;
  /** Undefined: a service did not recover within a minute. */
  readonly recoveryMs: number | undefined;
  readonly quietP99Ms: number;
  /** The largest process; 0 on a machine without /proc. */
  readonly memoryMb: number;
  readonly tenants: readonly Tenant[];
}

/** Runs load of new accounts, has the fault in the middle, and compares every acknowledged write with the rows. */
export async function tryFault(fault: Fault, scene: Scene, urls: Addresses, number: number): Promise<Trial> {
  const { pool } = scene.system;
  const make = (name: string) => makeTenant(scene, `${name}-${number}`);
  const [tenant, quiet, probe] = [await make("busy"), await make("quiet"), await make("probe")];
  const [client, quietClient] = [createClient(), createClient()];
  const end = new AbortController();
  const load = runLoad({ tenant, client, urls, signal: end.signal, loops: 2, pauseMs: 40 });
  const durations = runQuiet(quiet, quietClient, urls.trace, end.signal);
  let memoryMb = 0;
  const watch = setInterval(() => {
    memoryMb = Math.max(memoryMb, ...readMemory(scene.system).values());
  }, memoryEveryMs);
  let recoveryMs: number | undefined;
  try {
    await wait(aroundMs);
    await fault.run(scene);
    recoveryMs = await measureRecovery(scene, urls, probe);
    await wait(aroundMs);
  } finally {
    end.abort();
    await load;
    clearInterval(watch);
  }
  const quietP99Ms = percentile(await durations, 0.99);
  const tenants = [tenant, quiet];
  const found = await Promise.all(tenants.map((each) => auditRows(pool, each)));
  const tallies = [client.tally, quietClient.tally];
  const sum = (name: "requests" | "acknowledged" | "refused" | "broken" | "hung") =>
    tallies.reduce((total, tally) => total + tally[name], 0);
  return {
    fault: fault.name,
    requests: sum("requests"),
    acknowledged: sum("acknowledged"),
    refused: sum("refused"),
    broken: sum("broken"),
    hung: sum("hung"),
    wrong: Object.fromEntries(tallies.flatMap(({ wrong }) => [...wrong])),
    lost: found.flatMap(({ lost }) => lost),
    doubled: found.flatMap(({ doubled }) => doubled),
    recoveryMs,
    quietP99Ms,
    memoryMb,
    tenants,
  };
}
