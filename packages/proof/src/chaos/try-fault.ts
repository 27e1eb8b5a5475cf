import { setTimeout as wait } from "node:timers/promises";
import { runLoad, runQuiet } from "../load/agents.js";
import { auditRows, type Findings } from "../load/audit.js";
import { createClient } from "../load/client.js";
import { percentile } from "../load/figures.js";
import { readMemory } from "../load/memory.js";
import type { Addresses } from "../load/stage.js";
import { makeTenant, type Tenant } from "../load/tenant.js";
import { processNames } from "../system/start-system.js";
import type { Fault, Scene } from "./fault.js";

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

const probeTimeoutMs = 5_000;
const pauseMs = 50;

/** Far above the time that a recovery should take: this machine may be busy. */
const recoveryLimitMs = 60_000;

/**
 * Asks every service until each did its work once.
 * @returns milliseconds; undefined if one did not within a minute
 */
async function measureRecovery({ system }: Scene, urls: Addresses, probe: Tenant): Promise<number | undefined> {
  const startedAt = performance.now();
  const until = startedAt + recoveryLimitMs;
  const send = async (url: string, init: RequestInit) => {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(probeTimeoutMs) });
    await answer.arrayBuffer();
    // The probe's own key may have used up its minute.
    return answer.ok || answer.status === 429;
  };
  const post = (url: string, body: unknown, headers: Record<string, string>) =>
    send(url, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json", ...headers },
    });
  const trace = { agent_id: "probe", name: "probe", status: "running", started_at: new Date().toISOString() };
  const view = { name: "pageview", url: `https://${probe.domain}/probe`, domain: probe.domain };
  const statistics = { headers: { Authorization: `Bearer ${probe.statisticsKey}` } };
  const checks = [
    () => post(`${urls.trace}/api/v1/traces`, trace, { Authorization: `Bearer ${probe.traceKey}` }),
    () => post(`${urls.collector}/api/event`, view, { "User-Agent": "Mozilla/5.0 Firefox/141.0" }),
    () => send(`${urls.analytics}/api/v1/sites/${probe.siteId}/stats`, statistics),
    () => send(`${urls.dashboard}/dashboard`, {}),
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
