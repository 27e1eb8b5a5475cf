import { setTimeout as wait } from "node:timers/promises";
import { percentile } from "@waymark/local/figures";
import { runLoad, runQuiet } from "../load/agents.js";
import { createClient } from "../load/client.js";
import { readMemory } from "../load/memory.js";
import { makeTenant, type Tenant } from "../load/tenant.js";
import { processNames } from "../system/start-system.js";
import type { Fault, Scene } from "./fault.js";

const aroundMs = 1_000;
const memoryEveryMs = 250;

/** Runs load of new accounts, and has the fault in the middle. */
export async function tryFault(fault: Fault, scene: Scene, number: number) {
  const { system, url } = scene;
  const make = (name: string) => makeTenant(system, `${name}-${number}`);
  const [tenant, quiet, probe] = [await make("busy"), await make("quiet"), await make("probe")];
  const client = createClient();
  const end = new AbortController();
  const shared = { client, url, signal: end.signal };
  const load = runLoad({ ...shared, tenant, loops: 2, pauseMs: 40 });
  const durations = runQuiet({ ...shared, tenant: quiet });
  let memoryMb = 0;
  const watch = setInterval(() => {
    memoryMb = Math.max(memoryMb, ...readMemory(system).values());
  }, memoryEveryMs);
  let recoveryMs: number | undefined;
  try {
    await wait(aroundMs);
    await fault.run(scene);
    recoveryMs = await measureRecovery(scene, probe);
    await wait(aroundMs);
  } finally {
    end.abort();
    await load;
    clearInterval(watch);
  }
  return {
    fault: fault.name,
    ...client.tally,
    /** Undefined: a service did not recover within a minute. */
    recoveryMs,
    quietP99Ms: percentile(await durations, 0.99),
    /** The largest process; 0 on a machine without /proc. */
    memoryMb,
    tenants: [tenant, quiet] as Tenant[],
  };
}

const probeTimeoutMs = 5_000;
const pauseMs = 50;

/** Far above the time that a recovery should take: this machine may be busy. */
const recoveryLimitMs = 60_000;

/**
 * Asks every service until each did its work once.
 * @returns milliseconds; undefined if one did not within a minute
 */
async function measureRecovery({ system, url }: Scene, probe: Tenant): Promise<number | undefined> {
  const startedAt = performance.now();
  const until = startedAt + recoveryLimitMs;
  const send = async (address: string, init: RequestInit) => {
    const answer = await fetch(address, { ...init, signal: AbortSignal.timeout(probeTimeoutMs) });
    await answer.arrayBuffer();
    // The probe's own key may have used up its minute.
    return answer.ok || answer.status === 429;
  };
  const post = (address: string, body: unknown, headers: Record<string, string>) =>
    send(address, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", ...headers },
    });
  const trace = { agent_id: "probe", name: "probe", status: "running", started_at: new Date().toISOString() };
  const view = { name: "pageview", url: `https://${probe.domain}/probe`, domain: probe.domain };
  const statistics = { headers: { Authorization: `Bearer ${probe.statisticsKey}` } };
  const checks = [
    () => post(`${url("trace-api")}/api/v1/traces`, trace, { Authorization: `Bearer ${probe.traceKey}` }),
    () => post(`${url("collector")}/api/event`, view, { "User-Agent": "Mozilla/5.0 Firefox/141.0" }),
    () => send(`${url("analytics-api")}/api/v1/sites/${probe.siteId}/stats`, statistics),
    () => send(`${url("dashboard")}/dashboard`, {}),
    ...processNames.map((name) => () => send(`${system.metricsUrl(name)}/ready`, {})),
  ];
  const pass = async (check: () => Promise<boolean>) => {
    while (performance.now() < until) {
      if (await check().catch(() => false)) return true;
      await wait(pauseMs);
    }
    return false;
  };
  const passed = await Promise.all(checks.map(pass));
  return passed.every(Boolean) ? performance.now() - startedAt : undefined;
}
