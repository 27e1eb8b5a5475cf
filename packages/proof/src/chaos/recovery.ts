import { setTimeout as wait } from "node:timers/promises";
import type { Addresses } from "../load/stage.js";
import type { Tenant } from "../load/tenant.js";
import { processNames } from "../system/start-system.js";
import type { Scene } from "./fault.js";

const probeTimeoutMs = 5_000;
const pauseMs = 50;

/** Far above the time that a recovery should take: this machine may be busy. */
const recoveryLimitMs = 60_000;

/**
 * Asks every service until each did its work once.
 * @returns milliseconds; undefined if one did not within a minute
 */
export async function measureRecovery({ system }: Scene, urls: Addresses, probe: Tenant): Promise<number | undefined> {
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
