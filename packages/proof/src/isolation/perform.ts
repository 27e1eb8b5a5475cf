import { randomBytes } from "node:crypto";
import fc, { type Arbitrary } from "fast-check";
import { nameOf, type Operation } from "../fuzz/operations.js";
import { nounOf, planUsualRequest, toolNames } from "../fuzz/plan-request.js";
import { type Received, type Sent, send } from "../fuzz/send.js";
import type { System } from "../system/start-system.js";
import { fillIds } from "../system/tenant.js";
import { type Actor, proofWith, type Right } from "./actor.js";
import { idsOf } from "./find-leak.js";

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

const markText = fc.nat(2).map((n) => `{{mark:${n}}}`);

/** An operation by somebody, with ids of somebody, who may be another. */
export interface Act {
  readonly operation: Operation;
  readonly actor: Actor;
  readonly right: Right;
  readonly victim: Actor;
  readonly seed: number;
}

export interface Performed {
  readonly sent: Sent;
  readonly received: Received;
  /** The ids of the path, as sent. */
  readonly ids: string[];
}

const plans = new Map<string, Arbitrary<{ query: string; body: string | undefined }>>();

/** Sends an operation's request with the victim's ids in its path, or with ids that do not exist. */
export async function perform(system: Pick<System, "url">, act: Act, isIdKnown = true): Promise<Performed> {
  const { operation, actor, right, victim, seed } = act;
  const { service, method } = operation;
  const plan = plans.get(nameOf(operation)) ?? planUsualRequest(operation, markText);
  plans.set(nameOf(operation), plan);
  const [usual] = fc.sample(plan, { seed, numRuns: 1 });
  const recipe = recipes[nameOf(operation)];
  const body = recipe ? JSON.stringify(recipe()) : usual?.body;
  const ids: string[] = [];
  const parts = operation.path.split("/").map((part, index, all) => {
    if (!part.startsWith("{")) return part;
    const noun = nounOf(part, all[index - 1]);
    const id = isIdKnown ? fillIds(victim, `{{${noun}:${seed % 100}}}`) : missingId(noun);
    ids.push(id);
    return encodeURIComponent(id);
  });
  if (victim !== actor) for (const id of ids) actor.sentIds.add(id);
  const query = fillIds(actor, usual?.query ?? "");
  const origin = system.url(service);
  const sent: Sent = {
    url: origin + parts.join("/") + (query === "" ? "" : `?${query}`),
    method,
    headers: {
      "User-Agent": firefox,
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...proofWith(actor, right, service, origin),
    },
    body: body === undefined ? undefined : fillIds(actor, body),
  };
  return { sent, received: await send(sent), ids };
}

function missingId(noun: string): string {
  if (noun === "agent") return `nobody-${randomBytes(4).toString("hex")}`;
  const hex = randomBytes(16).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** Whether the path names something of the victim. */
export function namesOthersThing({ actor, victim }: Act, { ids }: Performed): boolean {
  const own = idsOf(victim);
  return victim !== actor && ids.length > 0 && ids.every((id) => own.has(id) || id === victim.mark);
}

const linkUntilTomorrow = () => ({ lastDay: new Date(Date.now() + 86_400_000).toISOString().slice(0, 10) });

/** Bodies that a schema does not tell; ids and marks are filled in later. Texts name the operation's path. */
const recipes: Readonly<Record<string, () => unknown>> = {
  "trace-api POST /v1/traces": () => otlp(),
  "trace-api POST /v1/logs": () => otlpLogs(),
  "trace-api POST /v1/metrics": () => ({ resourceMetrics: [] }),
  "trace-api POST /mcp": () => toolCall(toolNames["trace-api"]),
  "analytics-api POST /mcp": () => toolCall(toolNames["analytics-api"]),
  "collector POST /api/event": () => ({
    name: oneOf(["pageview", "pageview", "{{mark:1}}"]),
    url: "https://{{domain:0}}/{{mark:0}}",
    domain: "{{domain:0}}",
    referrer: "https://{{mark:2}}.test/",
    props: { plan: "{{mark:0}}" },
  }),
  "collector POST /api/requests": () => ({
    requests: [
      {
        url: "https://{{domain:0}}/{{mark:0}}",
        status: 200,
        user_agent: `{{mark:1}}-bot-${random()}`,
        at: new Date().toISOString(),
      },
    ],
  }),
  "dashboard POST /dashboard/api/sites": () => ({ domain: `s${random()}.{{domain:0}}`, name: "{{mark:0}}" }),
  "dashboard PATCH /dashboard/api/sites/{id}": () => ({ name: "{{mark:1}}" }),
  "dashboard POST /dashboard/api/sites/{id}/links": () => linkUntilTomorrow(),
  "dashboard POST /dashboard/api/traces/{id}/links": () => linkUntilTomorrow(),
  "dashboard POST /dashboard/api/sites/{id}/goals": () => ({ event: `{{mark:1}}-${random()}` }),
  "dashboard POST /dashboard/api/sites/{id}/funnels": () => ({
    name: `{{mark:1}}-${random()}`,
    steps: ["{{goal:0}}", "{{goal:1}}"],
  }),
  "dashboard PUT /dashboard/api/sites/{id}/goals/{goalId}": () => ({ event: `{{mark:1}}-${random()}` }),
  "dashboard PUT /dashboard/api/sites/{id}/funnels/{funnelId}": () => ({
    name: `{{mark:1}}-${random()}`,
    steps: ["{{goal:0}}", "{{goal:1}}"],
  }),
  "dashboard POST /dashboard/api/traces/{id}/scores": () => ({
    name: "{{mark:1}}",
    value: true,
    comment: "{{mark:0}}",
  }),
  "dashboard POST /dashboard/api/views": () => ({ name: `{{mark:1}}-${random()}`, query: "?q={{mark:0}}" }),
  "dashboard PATCH /dashboard/api/views/{view_id}": () => ({ name: `{{mark:1}}-${random()}` }),
  "dashboard POST /dashboard/api/channels": () => ({ kind: "webhook", to: `{{hook:0}}/${random()}` }),
  "dashboard POST /dashboard/api/alert-rules": () => ({
    agentId: "{{mark:0}}",
    abovePercent: 20,
    ofTraces: 5,
    withinSeconds: 3_600,
  }),
  "dashboard POST /dashboard/api/traces/delete": () => ({ ids: ["{{trace:0}}"] }),
  "dashboard POST /dashboard/api/failure-marks": () => ({ mark: "resolve", ids: ["{{failure:0}}"] }),
  "dashboard PUT /dashboard/api/failures/{failure_id}/mute": () => ({ until: null }),
  "dashboard PUT /dashboard/api/failures/{failure_id}/assignee": () => ({ personId: null }),
  "dashboard PUT /dashboard/api/alert-settings": () => ({ mode: "each", windowSeconds: 300 }),
  "dashboard PUT /dashboard/api/report": () => ({ every: "week" }),
  "dashboard PUT /dashboard/api/keep": () => ({ keep: "all" }),
  "dashboard PUT /dashboard/api/plan": () => ({ plan: "pro" }),
  "trace-api POST /api/v1/traces": () => ({
    ...{
      agent_id: oneOf(["{{mark:0}}", `{{mark:0}}-${random()}`]),
      name: "{{mark:1}}",
      status: oneOf(["running", "success", "error"]),
    },
    started_at: new Date().toISOString(),
    metadata: { note: "{{mark:2}}" },
  }),
  "trace-api POST /api/v1/traces/{trace_id}/spans/batch": () => ({
    spans: [
      {
        name: "{{mark:1}}",
        status: "ok",
        started_at: new Date().toISOString(),
        ended_at: new Date().toISOString(),
      },
    ],
  }),
  "trace-api PATCH /api/v1/traces/{trace_id}": () => ({
    status: oneOf(["success", "error", "timeout"]),
    ended_at: new Date().toISOString(),
  }),
};

const random = () => randomBytes(4).toString("hex");
const oneOf = <Value>(values: readonly Value[]): Value => values[randomBytes(1).readUInt8() % values.length] as Value;

function toolCall(names: readonly string[]) {
  const given = { trace_id: "{{trace:0}}", site_id: "{{site:0}}", id: "{{site:0}}" };
  const name = oneOf(names);
  const needed = /^(get_trace|search_spans|explain_failure)$/.test(name)
    ? { trace_id: given.trace_id }
    : /stats|events/.test(name)
      ? { id: given.id }
      : {};
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: needed } };
}

function otlp() {
  const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });
  const span = {
    traceId: randomBytes(16).toString("hex"),
    spanId: randomBytes(8).toString("hex"),
    name: "{{mark:1}}",
    startTimeUnixNano: `${Date.now()}000000`,
    endTimeUnixNano: `${Date.now() + 5}000000`,
    attributes: [attribute("gen_ai.agent.name", "{{mark:0}}"), attribute("input", "{{mark:2}}")],
    status: { code: oneOf([0, 2]), message: "{{mark:0}}" },
  };
  const resource = { attributes: [attribute("service.name", "{{mark:0}}")] };
  return { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] };
}

function otlpLogs() {
  const record = {
    traceId: randomBytes(16).toString("hex"),
    spanId: randomBytes(8).toString("hex"),
    timeUnixNano: `${Date.now()}000000`,
    eventName: "gen_ai.user.message",
    body: { stringValue: "{{mark:2}}" },
  };
  return { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] };
}
