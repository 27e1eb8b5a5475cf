import { Agent } from "node:http";
import { percentile } from "@waymark/local/figures";
import { send } from "../fuzz/send.js";
import { type Attack, type Owner, services } from "./attacks.js";

export interface Victim extends Owner {
  siteId: string;
  traces: readonly string[];
  readTrace: string;
}

/** Requests per second of each kind, sent whether or not earlier ones are answered. */
export const perSecond = 20;
/** A later answer counts as none. */
const patienceMs = 30_000;

interface SmallRequest {
  method?: "POST" | "PATCH";
  path(victim: Victim, n: number): string;
  body?: object;
}

const startedAt = "2026-11-21T09:00:01.250Z";
const ownTrace = ({ traces }: Victim, n: number) => `/traces/${traces[n % traces.length]}`;

export const smallRequests: Readonly<Record<Attack["service"], Readonly<Record<string, SmallRequest>>>> = {
  "trace-api": {
    create: {
      method: "POST",
      path: () => "/traces",
      body: {
        agent_id: "support-agent",
        name: "Answer ticket 1042",
        status: "running",
        started_at: startedAt,
        metadata: { model: "gpt-4o", tags: ["support", "billing"] },
      },
    },
    span: {
      method: "POST",
      path: (victim, n) => `${ownTrace(victim, n)}/spans`,
      body: {
        name: "call the model",
        status: "ok",
        started_at: startedAt,
        input: { messages: [{ role: "user", content: "Where is my refund?" }] },
        output: "On Monday.",
      },
    },
    finalize: { method: "PATCH", path: ownTrace, body: { status: "success" } },
    read: { path: ({ readTrace }) => `/traces/${readTrace}` },
  },
  "analytics-api": {
    sites: { path: () => "/sites" },
    stats: { path: ({ siteId }) => `/sites/${siteId}/stats` },
  },
  dashboard: {
    me: { path: () => "/me" },
    traces: { path: () => "/traces" },
    stats: { path: ({ siteId }) => `/sites/${siteId}/stats` },
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
  const { base, proofOf } = services[service];
  const kinds = Object.entries(smallRequests[service]);
  const open = kinds.flatMap(([kind, { method = "GET", path, body }], index) =>
    Array.from({ length: seconds * perSecond }, async (_, n) => {
      const dueMs = ((n + index / kinds.length) * 1_000) / perSecond;
      await new Promise((resolve) => setTimeout(resolve, dueMs));
      const turn = n * kinds.length + index;
      const request = {
        method,
        url: `http://127.0.0.1:${port}${base}${path(victim, turn)}`,
        headers: { ...proofOf(victim, turn), "Content-Type": "application/json" },
        body: body && JSON.stringify(body),
      };
      const startedMs = performance.now();
      const how = await send(request, { agent, hangMs: patienceMs }).then(
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
