import type { IncomingMessage, ServerResponse } from "node:http";
import { Gauge, Registry } from "prom-client";
import type { Leaving } from "./leaving.js";
import { type Listening, listen } from "./listen.js";
import { withDeadline } from "./with-deadline.js";

/** A check per store; it throws when the store does not answer. */
export type Checks = Readonly<Record<string, () => Promise<unknown>>>;

export interface ReadinessChecks {
  required: Checks;
  /** Stores with a substitute: the answer names a failed one and stays 200. */
  bridged?: Checks;
  /** Sentences about settings that keep nothing from working. */
  notes?: () => string[];
  leaving?: Leaving;
}

/** Why a store is not ready, in words that the answer of `/ready` repeats. */
export class NotReadyError extends Error {
  override name = "NotReadyError";
}

export interface Readiness {
  status: 200 | 503;
  body: Record<string, unknown>;
}

const checkTimeoutMs = 2_000;

/**
 * Whether the stores answer, each within two seconds: 200 with `{status:"ok", checks}`, or 503 with `{error, checks}` when a
 * required one fails; each check is `ok` or `failed`.
 */
export async function readiness(checks: ReadinessChecks): Promise<Readiness> {
  const all = { ...checks.required, ...checks.bridged };
  const results = await Promise.all(
    Object.entries(all).map(async ([name, check]) => ({ name, failure: await failureOf(check) })),
  );
  const outcome = Object.fromEntries(results.map(({ name, failure }) => [name, failure ? "failed" : "ok"]));
  const failed = results.filter(({ name, failure }) => name in checks.required && failure);
  const notes = checks.notes?.() ?? [];
  const told = { checks: outcome, ...(notes.length > 0 && { notes }) };
  const texts = failed.map(({ name, failure }) =>
    failure instanceof NotReadyError ? `${name} (${failure.message})` : name,
  );
  if (checks.leaving?.isLeaving) texts.push("stopping");
  if (texts.length === 0) return { status: 200, body: { status: "ok", ...told } };
  return { status: 503, body: { error: `Not ready: ${texts.join(", ")}`, ...told } };
}

/** The answer of `/ready`: it counts whoever asks, and says no as soon as the service is asked to stop. */
export function answerReady(checks: ReadinessChecks): Promise<Readiness> {
  checks.leaving?.noteAsk();
  return readiness(checks);
}

/** Shows as a metric whether `/ready` answers 200, so a rule can tell a process that is up and does no work. */
export function observeReadiness(registry: Registry, ready: () => Promise<Readiness>): void {
  new Gauge({
    name: "waymark_ready",
    help: "1 while /ready answers 200, else 0",
    aggregator: "min",
    registers: [registry],
    async collect() {
      this.set((await ready()).status === 200 ? 1 : 0);
    },
  });
}

async function failureOf(check: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await withDeadline(check(), checkTimeoutMs, "timeout");
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

interface OperationsServerOptions {
  metrics(): Promise<string>;
  ready(): Promise<Readiness>;
  host: string;
  port: number;
  portVariable: string;
  /** Whether the operator chose the port: a taken one is then an error; otherwise any free one will do. */
  isPortChosen: boolean;
}

/** The operators' server, on an unexposed port: `/metrics` (Prometheus text), `/health` and `/ready`. */
export function openOperationsServer(options: OperationsServerOptions): Promise<Listening> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = (request.url ?? "/").split("?")[0];
    if (path === "/metrics") return send(response, 200, Registry.PROMETHEUS_CONTENT_TYPE, await options.metrics());
    if (path === "/health") return sendJson(response, 200, { status: "ok" });
    if (path === "/ready") {
      const { status, body } = await options.ready();
      return sendJson(response, status, body);
    }
    return sendJson(response, 404, { error: "Not found" });
  };
  return listen({
    handler: (request, response) => {
      answer(request, response).catch(() => sendJson(response, 500, { error: "Internal server error" }));
    },
    host: options.host,
    port: options.port,
    portVariable: options.portVariable,
    orAnyPort: !options.isPortChosen,
  });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { "Content-Type": type }).end(text);
}
