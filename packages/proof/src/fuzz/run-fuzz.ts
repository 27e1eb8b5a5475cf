import { setTimeout as wait } from "node:timers/promises";
import { memoryOf } from "@waymark/local/process-usage";
import { watched } from "@waymark/testing/watched";
import fc, { type Arbitrary } from "fast-check";
import {
  processNames,
  type ServiceName,
  type System,
  waitUntilReady,
  withoutRateLimits,
} from "../system/start-system.js";
import { createTenant, fillIds, learnIds, proofOf, type Tenant } from "../system/tenant.js";
import { createAnswerCheck } from "./check-answer.js";
import { nameOf, type Operation, readOperations } from "./operations.js";
import { type CostlyRequest, fillSite, planCostly } from "./plan-costly.js";
import { type PlannedRequest, planRequest } from "./plan-request.js";
import { curlOf, type Received, type Sent, send } from "./send.js";

/** Random addresses of webhooks must not lead to this machine. */
export const fuzzSettings = { ...withoutRateLimits, WEBHOOK_ALLOW_PRIVATE: undefined };

interface FuzzOptions {
  requests: number;
  seed: number;
  only: ServiceName | undefined;
  /** Sends requests at the maxima of their limits, while other accounts are watched. */
  costly?: boolean;
  say(line: string): void;
}

interface FuzzFailure {
  operation: string;
  fault: string;
  /** Repeats the request. */
  curl: string;
}

export interface FuzzResult {
  requests: number;
  failures: FuzzFailure[];
  /** By operation and status. */
  counts: Map<string, Map<number, number>>;
  /** By process, at the end. */
  memoryMib: Map<string, number>;
}

/** Requests in flight at a time. */
const concurrency = 12;
/** A key of the statistics service has 60 requests a minute. */
const requestsPerTenant = 160;
const maxFailures = 20;
const maxRepeats = 10;
/** Compose gives each container this. */
const maxMemoryMib = 512;

/** Sends random requests to a running system and checks each answer. The same seed plans the same requests. */
export async function runFuzz(system: System, options: FuzzOptions): Promise<FuzzResult> {
  const { requests, seed, only, costly = false, say } = options;
  const first = await createTenant(system, `fuzz-${seed}-first`);
  const all = await readOperations(system, first.cookie);
  const chosen = all.filter(({ service }) => only === undefined || service === only);
  const plan = planRequests(costly ? planCostly(chosen) : planAny(chosen), seed, costly ? 20 : 1_000);
  const pids = processNames.map((name) => system.apps[name].identity.pid);
  const check = createAnswerCheck();
  const result: FuzzResult = { requests: 0, failures: [], counts: new Map(), memoryMib: new Map() };
  const tenants = tenantsInTurn(system, seed, costly);

  const work = async () => {
    while (result.requests < requests && result.failures.length < maxFailures) {
      const index = result.requests++;
      const { operation, planned } = plan();
      const sent = complete(operation, planned, await tenants.at(index), system);
      const fault = await tryRequest(operation, sent, await tenants.at(index), result);
      const isNew = !result.failures.some((each) => each.operation === nameOf(operation) && each.fault === fault);
      if (fault !== undefined && isNew) {
        result.failures.push({ operation: nameOf(operation), fault, curl: curlOf(sent) });
        say(`FAILED ${nameOf(operation)}: ${fault}\n  ${curlOf(sent).slice(0, 4_000)}`);
      }
      if (result.requests % 5_000 === 0) say(`${result.requests} requests, ${result.failures.length} failures`);
    }
  };

  async function tryRequest(operation: Operation, sent: Sent, tenant: Tenant, { counts }: FuzzResult) {
    try {
      const received = await sendUntilFree(sent);
      const byStatus = counts.get(nameOf(operation)) ?? new Map<number, number>();
      counts.set(nameOf(operation), byStatus.set(received.status, (byStatus.get(received.status) ?? 0) + 1));
      if (received.status < 300) learnIds(tenant, operation.path, received.text);
      return check(operation, sent.method, received);
    } catch (error) {
      return `no answer: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  const run = () => Promise.all(Array.from({ length: concurrency }, work));
  const waits = costly ? await watchAll(system, first, run) : await run().then(() => []);
  for (const fault of waits) result.failures.push({ operation: "another account's small request", fault, curl: "" });
  result.failures.push(...(await findDamage(system, pids, result.memoryMib)));
  return result;
}

/** Repeats a request that a busy machine answers 503, as clients do. A 503 that stays is a failure. */
async function sendUntilFree(sent: Sent): Promise<Received> {
  let received = await send(sent);
  for (let repeats = 0; received.status === 503 && repeats < maxRepeats; repeats++) {
    await wait(1_000);
    received = await send(sent);
  }
  return received;
}

function planAny(operations: readonly Operation[]): Arbitrary<CostlyRequest> {
  return fc.oneof(...operations.map((operation) => planRequest(operation).map((planned) => ({ operation, planned }))));
}

/** @returns a function that plans one request more */
export function planRequests(arbitrary: Arbitrary<CostlyRequest>, seed: number, size: number) {
  let waiting: CostlyRequest[] = [];
  let round = 0;
  return () => {
    if (waiting.length === 0) waiting = fc.sample(arbitrary, { seed: seed + round++, numRuns: size });
    return waiting.pop() as CostlyRequest;
  };
}

/** A new tenant each so many requests: the hostile ones end sessions, revoke keys and delete sites. */
function tenantsInTurn(system: System, seed: number, costly: boolean) {
  const tenants = new Map<number, Promise<Tenant>>();
  const open = async (mark: string, plan: "free" | "pro") => {
    const tenant = await createTenant(system, mark, plan);
    if (costly) await fillSite(system.url("collector"), tenant);
    return tenant;
  };
  return {
    at(index: number): Promise<Tenant> {
      const turn = Math.floor(index / requestsPerTenant);
      const known = tenants.get(turn) ?? open(`fuzz-${seed}-${turn}`, turn % 4 === 3 ? "free" : "pro");
      tenants.set(turn, known);
      tenants.delete(turn - 3);
      return known;
    },
  };
}

export function complete(operation: Operation, planned: PlannedRequest, tenant: Tenant, system: System): Sent {
  const { service } = operation;
  const { method, path, body, credential } = planned;
  const origin = system.url(service);
  const proof: Record<PlannedRequest["credential"], Record<string, string>> = {
    right: proofOf(tenant, service, origin),
    none: { Origin: origin },
    other: { Authorization: `Bearer ${service === "trace-api" ? tenant.statisticsKey : tenant.traceKey}` },
    garbage: { Authorization: "Bearer wmk_trace_~", Cookie: "waymark=%00; waymark", Origin: "null" },
  };
  return {
    url: origin + fillIds(tenant, path),
    method,
    headers: { ...planned.headers, ...proof[credential] },
    body: typeof body === "string" ? fillIds(tenant, body) : body,
  };
}

/** Processes that ended, are not ready or grew too much. */
async function findDamage(system: System, pids: readonly number[], memoryMib: Map<string, number>) {
  const damage: FuzzFailure[] = [];
  for (const [index, name] of processNames.entries()) {
    const { pid } = system.apps[name].identity;
    const add = (fault: string) => damage.push({ operation: name, fault, curl: "" });
    if (pid !== pids[index]) add(`ended, and was started again; see ${system.folder}/${name}.log`);
    await waitUntilReady(system.metricsUrl(name)).catch((error: Error) => add(error.message));
    const mib = Math.round(memoryOf(pid).now / 1_048_576);
    memoryMib.set(name, mib);
    if (mib > maxMemoryMib) add(`holds ${mib} MiB; its container has ${maxMemoryMib}`);
  }
  return damage;
}

/**
 * Does work while a tenant's small requests to each service are watched.
 * @returns what is wrong if one of them failed, or waited longer than `watched` allows
 */
export async function watchAll(system: System, tenant: Tenant, work: () => Promise<unknown>): Promise<string[]> {
  const { apps, url } = system;
  const requestTo = (service: ServiceName, path: string, headers: Record<string, string> = {}) => {
    const { pid } = apps[service].identity;
    return { url: url(service) + path, headers, pid };
  };
  const proofFor = (service: ServiceName) => proofOf(tenant, service, url(service));
  const small = [
    requestTo("trace-api", "/api/v1/traces?limit=1", proofFor("trace-api")),
    requestTo("dashboard", "/dashboard/api/me", proofFor("dashboard")),
    // A key of the statistics service has 60 requests a minute.
    requestTo("analytics-api", "/health"),
  ];
  const done = work();
  const seen = await Promise.allSettled(small.map((request) => watched(request, () => done)));
  await done;
  return seen.flatMap((each, index) => (each.status === "rejected" ? [`${small[index]?.url}: ${each.reason}`] : []));
}
