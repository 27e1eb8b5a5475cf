import { Agent } from "node:http";
import { percentile } from "@waymark/local/figures";
import { type Sent, send } from "../fuzz/send.js";
import type { Attack } from "./attacks.js";

/** What the measured account owns. */
export interface Victim {
  traceKey: string;
  statisticsKeys: readonly string[];
  cookie: string;
  siteId: string;
  traces: readonly string[];
  /** A trace of 50 spans. */
  readTrace: string;
}

/** Requests per second of each kind, sent whether or not earlier ones are answered. */
export const perSecond = 20;
/** A later answer counts as none. */
const patienceMs = 30_000;

type Make = (victim: Victim, n: number) => Omit<Sent, "url"> & { path: string };

const json = "application/json";
const startedAt = "2026-11-21T09:00:01.250Z";

function traceRequest(method: string, path: (victim: Victim, n: number) => string, body?: object): Make {
  return (victim, n) => ({
    method,
    path: `/api/v1/traces${path(victim, n)}`,
    headers: { Authorization: `Bearer ${victim.traceKey}`, ...(body && { "Content-Type": json }) },
    body: body && JSON.stringify(body),
  });
}

const ownTrace = ({ traces }: Victim, n: number) => `/${traces[n % traces.length]}`;
const get = (path: string, headers: Record<string, string>) => ({ method: "GET", path, headers, body: undefined });
const statisticsRequest =
  (path: (victim: Victim) => string): Make =>
  (victim, n) =>
    get(`/api/v1/sites${path(victim)}`, {
      Authorization: `Bearer ${victim.statisticsKeys[n % victim.statisticsKeys.length]}`,
    });
const pageRequest =
  (path: (victim: Victim) => string): Make =>
  (victim) =>
    get(`/dashboard/api${path(victim)}`, { Cookie: victim.cookie });

/** The small requests of an account by service. */
export const smallRequests: Readonly<Record<Attack["service"], Readonly<Record<string, Make>>>> = {
  "trace-api": {
    create: traceRequest("POST", () => "", {
      agent_id: "support-agent",
      name: "Answer ticket 1042",
      status: "running",
      started_at: startedAt,
      metadata: { model: "gpt-4o", tags: ["support", "billing"] },
    }),
    span: traceRequest("POST", (victim, n) => `${ownTrace(victim, n)}/spans`, {
      name: "call the model",
      status: "ok",
      started_at: startedAt,
      input: { messages: [{ role: "user", content: "Where is my refund?" }] },
      output: "On Monday.",
    }),
    finalize: traceRequest("PATCH", ownTrace, { status: "success" }),
    read: traceRequest("GET", ({ readTrace }) => `/${readTrace}`),
  },
  "analytics-api": {
    sites: statisticsRequest(() => ""),
    stats: statisticsRequest(({ siteId }) => `/${siteId}/stats`),
  },
  dashboard: {
    me: pageRequest(() => "/me"),
    traces: pageRequest(() => "/traces"),
    stats: pageRequest(({ siteId }) => `/sites/${siteId}/stats`),
  },
};

/** Sends the small requests of a service at fixed times, so a slow answer does not hide the delay of the next. */
export async function drive(
  { service, port }: { service: Attack["service"]; port: number },
  victim: Victim,
  seconds: number,
) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const durations: number[] = [];
  const failed: Record<string, number> = {};
  const kinds = Object.entries(smallRequests[service]);
  const open = kinds.flatMap(([kind, make], index) =>
    Array.from({ length: seconds * perSecond }, async (_, n) => {
      const dueMs = ((n + index / kinds.length) * 1_000) / perSecond;
      await new Promise((resolve) => setTimeout(resolve, dueMs));
      const { path, ...request } = make(victim, n * kinds.length + index);
      const startedMs = performance.now();
      const how = await send(
        { ...request, url: `http://127.0.0.1:${port}${path}` },
        { agent, hangMs: patienceMs },
      ).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      );
      durations.push(performance.now() - startedMs);
      if (typeof how === "number" && how < 300) return;
      failed[`${kind} ${how}`] = (failed[`${kind} ${how}`] ?? 0) + 1;
    }),
  );
  await Promise.all(open);
  agent.destroy();
  const at = (share: number) => percentile(durations, share);
  return { sent: open.length, failed, p50Ms: at(0.5), p99Ms: at(0.99), longestMs: at(1) };
}
