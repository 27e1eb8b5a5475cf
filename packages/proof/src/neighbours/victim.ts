import { Agent, request } from "node:http";
import { percentile } from "../load/figures.js";
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

export interface Seen {
  sent: number;
  failed: Record<string, number>;
  p50Ms: number;
  p99Ms: number;
  longestMs: number;
}

/** Requests per second of each kind, sent whether or not earlier ones are answered. */
export const perSecond = 20;
/** A later answer counts as none. */
const patienceMs = 30_000;

interface SmallRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

type Make = (victim: Victim, n: number) => SmallRequest;

const json = "application/json";
const startedAt = "2026-11-21T09:00:01.250Z";

function traceRequest(method: string, path: (victim: Victim, n: number) => string, body?: object): Make {
  return (victim, n) => ({
    method,
    path: `/api/v1/traces${path(victim, n)}`,
    headers: { Authorization: `Bearer ${victim.traceKey}`, ...(body && { "Content-Type": json }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const ownTrace = ({ traces }: Victim, n: number) => `/${traces[n % traces.length]}`;
const statisticsRequest =
  (path: (victim: Victim) => string): Make =>
  (victim, n) => ({
    method: "GET",
    path: `/api/v1/sites${path(victim)}`,
    headers: { Authorization: `Bearer ${victim.statisticsKeys[n % victim.statisticsKeys.length]}` },
  });
const pageRequest =
  (path: (victim: Victim) => string): Make =>
  (victim) => ({ method: "GET", path: `/dashboard/api${path(victim)}`, headers: { Cookie: victim.cookie } });

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
): Promise<Seen> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const durations: number[] = [];
  const failed: Record<string, number> = {};
  const kinds = Object.entries(smallRequests[service]);
  const open = kinds.flatMap(([kind, make], index) =>
    Array.from({ length: seconds * perSecond }, async (_, n) => {
      const dueMs = ((n + index / kinds.length) * 1_000) / perSecond;
      await new Promise((resolve) => setTimeout(resolve, dueMs));
      const startedMs = performance.now();
      const how = await send(agent, port, make(victim, n * kinds.length + index)).catch(
        (error: NodeJS.ErrnoException) => error.code ?? error.message,
      );
      durations.push(performance.now() - startedMs);
      if (typeof how === "number" && how < 300) return;
      failed[`${kind} ${how}`] = (failed[`${kind} ${how}`] ?? 0) + 1;
    }),
  );
  await Promise.all(open);
  agent.destroy();
  const [p50Ms, p99Ms, longestMs] = [0.5, 0.99, 1].map((share) => percentile(durations, share)) as [
    number,
    number,
    number,
  ];
  return { sent: open.length, failed, p50Ms, p99Ms, longestMs };
}

function send(agent: Agent, port: number, { body, ...each }: SmallRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, agent, timeout: patienceMs, ...each }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode ?? 0));
      answer.once("error", reject);
    });
    sent.once("timeout", () => sent.destroy(new Error("timeout")));
    sent.once("error", reject);
    sent.end(body);
  });
}
