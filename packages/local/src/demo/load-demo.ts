import { join } from "node:path";
import { type ApiClient, createApiClient } from "@waymark/client";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { writeSecretFile } from "../secret-file.js";
import { type DemoState, prepareAccounts, readDemoState } from "./demo-accounts.js";
import { loadVisits, type sites } from "./load-visits.js";
import { type PlannedTrace, planFreeTraces, planProTraces } from "./plan-traces.js";

interface DemoOptions {
  databaseUrl: string;
  dataFolder: string;
  now: Date;
  /** Gets a line before each part that takes a while. */
  say(line: string): void;
  signal: AbortSignal;
}

/** The newest failures come as from an agent, so the mails and their page have something to show. */
const mailedFailures = 3;

/** Makes the demo's accounts, keys, sites and visits, except those of an earlier start. */
export async function loadDemo(options: DemoOptions) {
  const { signal } = options;
  const file = join(options.dataFolder, "demo.json");
  const state = await readDemoState(file, options.now);
  const pool = createPool({
    connectionString: options.databaseUrl,
    maxConnections: 3,
    applicationName: "waymark demo",
    statementTimeoutMs: 60_000,
    pipeline: true,
  });
  const prisma = createPrisma(pool);
  try {
    const accounts = await prepareAccounts({ pool, prisma }, state);
    // Written before the visits: an interrupted load must run again with the same time and the same keys.
    await writeSecretFile(file, state);
    for (const { site } of Object.values(accounts)) {
      await once(file, state, site.id, () => {
        options.say(`Loading the demo: 60 days of visits to ${site.domain} ...`);
        return loadVisits(pool, {
          site: { id: site.id, domain: site.domain as keyof typeof sites },
          end: new Date(state.end),
        });
      });
    }
    return {
      accounts,
      /** Sends the demo's traces to the trace service unless an earlier start did. */
      async sendTraces(url: string) {
        const end = Date.parse(state.end);
        const { free, pro } = accounts;
        await once(file, state, pro.id, async () => {
          const traces = await planProTraces(end);
          options.say(`Loading the demo: ${traces.length} traces of six agents ...`);
          const api = createApiClient({ url, key: pro.keys.trace });
          await sendTraces(api, traces, signal);
        });
        await once(file, state, free.id, async () => {
          const api = createApiClient({ url, key: free.keys.trace });
          await sendTraces(api, await planFreeTraces(end), signal);
        });
      },
    };
  } finally {
    await prisma.$disconnect();
    await pool.end();
  }
}

async function once(file: string, state: DemoState, id: string, load: () => Promise<unknown>): Promise<void> {
  if (state.loaded.includes(id)) return;
  await load();
  state.loaded.push(id);
  await writeSecretFile(file, state);
}

/** Requests at once; more do not load faster on two cores. */
const senders = 8;

/** The largest batch of spans (trace contract, "Limits"). */
const maxBatch = 1_000;

/**
 * Sends traces to the trace API. Finished traces come with their status, so old failures send no mail. Idempotency keys make an
 * interrupted load repeatable.
 * @throws WaymarkError after a refusal
 */
async function sendTraces(api: ApiClient, traces: readonly PlannedTrace[], signal: AbortSignal): Promise<void> {
  const mailed = new Set(traces.filter(({ status }) => status === "error").slice(-mailedFailures));
  const waiting = traces.entries();
  const work = async () => {
    for (const [index, trace] of waiting) {
      await sendTrace(api, trace, { name: `demo-${index}`, isMailed: mailed.has(trace), signal });
    }
  };
  await Promise.all(Array.from({ length: senders }, work));
}

async function sendTrace(
  api: ApiClient,
  trace: PlannedTrace,
  { name, isMailed, signal }: { name: string; isMailed: boolean; signal: AbortSignal },
): Promise<void> {
  const { startedAt, endMs, spans, status, metadata } = trace;
  const ended_at = endMs === null ? null : timeOf(startedAt + endMs);
  const made = { agent_id: trace.agentId, name: trace.name, started_at: timeOf(startedAt), metadata };
  const begun = isMailed ? { status: "running" as const, ended_at: null } : { status, ended_at };
  const { trace_id } = await api.createTrace({ ...made, ...begun }, { idempotencyKey: name, signal });
  const ids: string[] = [];
  for (let from = 0; from < spans.length; from += maxBatch) {
    const batch = spans.slice(from, from + maxBatch).map(({ startMs, endMs, parent, ...span }, index) => ({
      ...span,
      started_at: timeOf(startedAt + startMs),
      ended_at: endMs === null ? null : timeOf(startedAt + endMs),
      ref: String(from + index),
      ...(parent !== null &&
        (parent < from ? { parent_span_id: ids[parent] ?? null } : { parent_ref: String(parent) })),
    }));
    const { span_ids } = await api.addSpans(trace_id, batch, { idempotencyKey: `${name}-${from}`, signal });
    ids.push(...span_ids);
  }
  if (isMailed) await api.finalizeTrace(trace_id, { status, ended_at }, { signal });
}

function timeOf(ms: number): string {
  return new Date(Math.floor(ms)).toISOString();
}
