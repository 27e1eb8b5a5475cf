import { randomBytes, randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import type { System } from "../system/start-system.js";
import type { Client } from "./client.js";
import type { Tenant } from "./tenant.js";

interface LoadOptions {
  tenant: Tenant;
  client: Client;
  url: System["url"];
  /** Aborting it ends the load: no new request begins. */
  signal: AbortSignal;
  loops: number;
  pauseMs: number;
}

/** One failed trace in so many. */
const lifesPerFailure = 4;

/** Each key reads its site 60 times a minute. */
const statisticsPauseMs = 1_200;

/** Drives all services for a tenant until the signal; resolves when the last request has its end. */
export async function runLoad(options: LoadOptions): Promise<void> {
  const { signal, loops, pauseMs } = options;
  setMaxListeners(0, signal);
  const repeat = async (work: (options: LoadOptions, n: number) => Promise<void>, everyMs = pauseMs) => {
    for (let n = 1; !signal.aborted; n++) {
      await work(options, n);
      await wait(everyMs, undefined, { signal }).catch(() => undefined);
    }
  };
  const kinds = [liveTrace, bareTrace, otelTrace, visit];
  const writers = kinds.flatMap((work) => Array.from({ length: loops }, () => repeat(work)));
  await Promise.all([...writers, repeat(readStatistics, statisticsPauseMs), repeat(readDashboard, statisticsPauseMs)]);
}

function authorized({ traceKey }: Tenant, key?: string): Record<string, string> {
  return { Authorization: `Bearer ${traceKey}`, ...(key && { "Idempotency-Key": key }) };
}

/** A trace from its creation to its end, each write repeated until its acknowledgement. */
async function liveTrace({ tenant, client, url, signal }: LoadOptions, n: number): Promise<void> {
  const { name, entry } = tenant.ledger.openTrace();
  const post = (path: string, body: unknown) =>
    client.untilAcknowledged(
      `${url("trace-api")}/api/v1/traces${path}`,
      { method: "POST", headers: authorized(tenant, randomUUID()), body },
      signal,
    );
  const made = await post("", { agent_id: "agent", name, status: "running", started_at: new Date().toISOString() });
  if (!made) return;
  entry.isAcknowledged = true;
  entry.status = "running";
  const id = String(made.body["trace_id"]);
  const span = (spanName: string) => ({ name: spanName, status: "ok", started_at: new Date().toISOString() });
  if (await post(`/${id}/spans/batch`, { spans: [span("first"), span("second")] })) entry.spans.push("first", "second");
  const status = n % lifesPerFailure === 0 ? "error" : "success";
  if (status === "error") entry.hasFailed = true;
  entry.status = undefined;
  const address = `${url("trace-api")}/api/v1/traces/${id}`;
  const body = { status, ended_at: new Date().toISOString() };
  const ended = await client.untilAcknowledged(address, { method: "PATCH", headers: authorized(tenant), body }, signal);
  if (ended) entry.status = status;
  await client.once(address, { headers: authorized(tenant) });
}

/** A trace without an idempotency key, sent once. */
async function bareTrace({ tenant, client, url }: LoadOptions): Promise<void> {
  const { name, entry } = tenant.ledger.openTrace();
  const body = { agent_id: "bare", name, status: "running", started_at: new Date().toISOString() };
  const made = await client.once(`${url("trace-api")}/api/v1/traces`, {
    method: "POST",
    headers: authorized(tenant),
    body,
  });
  if (!made) return;
  entry.isAcknowledged = true;
  entry.status = "running";
}

/** A root span and its child over OpenTelemetry, repeated until its acknowledgement. */
async function otelTrace({ tenant, client, url, signal }: LoadOptions): Promise<void> {
  const { name, entry } = tenant.ledger.openTrace();
  const [traceId, rootId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  const nowNano = `${Date.now()}000000`;
  const span = (spanId: string, spanName: string, parentSpanId?: string) => ({
    traceId,
    spanId,
    parentSpanId,
    name: spanName,
    startTimeUnixNano: nowNano,
    endTimeUnixNano: nowNano,
    status: { code: 1 },
  });
  const spans = [span(rootId, name), span(randomBytes(8).toString("hex"), "child", rootId)];
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "otel" } }] };
  const body = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "proof" }, spans }] }] };
  const request = { method: "POST", headers: authorized(tenant), body };
  if (!(await client.untilAcknowledged(`${url("trace-api")}/v1/traces`, request, signal))) return;
  entry.isAcknowledged = true;
  entry.status = "success";
  entry.spans.push(name, "child");
}

/** A page view, sent once. Each of 200 visitors has ten, then they return. */
async function visit({ tenant, client, url }: LoadOptions, n: number): Promise<void> {
  const { path, entry } = tenant.ledger.openEvent();
  const visitor = Math.floor(n / 10) % 200;
  const headers = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/141.0",
    "X-Forwarded-For": `203.0.113.${visitor}`,
  };
  const body = { name: "pageview", url: `https://${tenant.domain}${path}`, domain: tenant.domain };
  const taken = await client.once(`${url("collector")}/api/event`, { method: "POST", headers, body });
  if (taken) entry.acknowledged++;
}

async function readStatistics({ tenant, client, url }: LoadOptions): Promise<void> {
  const headers = { Authorization: `Bearer ${tenant.statisticsKey}` };
  await client.once(`${url("analytics-api")}/api/v1/sites/${tenant.siteId}/stats`, { headers });
}

async function readDashboard({ client, url }: LoadOptions): Promise<void> {
  await client.once(`${url("dashboard")}/dashboard`, {});
}

const quietPauseMs = 25;

/**
 * A small account beside the load: writes a trace, reads it, and so on until the signal.
 * @returns the durations of its acknowledged requests
 */
export async function runQuiet({ tenant, client, url, signal }: Omit<LoadOptions, "loops" | "pauseMs">) {
  const durations: number[] = [];
  const address = `${url("trace-api")}/api/v1/traces`;
  while (!signal.aborted) {
    const { name, entry } = tenant.ledger.openTrace();
    const body = { agent_id: "quiet", name, status: "running", started_at: new Date().toISOString() };
    const request = { method: "POST", headers: authorized(tenant, randomUUID()), body };
    const made = await client.untilAcknowledged(address, request, signal);
    if (!made) continue;
    entry.isAcknowledged = true;
    entry.status = "running";
    durations.push(made.ms);
    const read = await client.once(`${address}/${made.body["trace_id"]}`, { headers: authorized(tenant) });
    if (read) durations.push(read.ms);
    await wait(quietPauseMs, undefined, { signal }).catch(() => undefined);
  }
  return durations;
}
