import { randomBytes } from "node:crypto";
import fc, { type Arbitrary } from "fast-check";
import { nameOf, type Operation } from "../fuzz/operations.js";
import { nounOf, planUsualRequest } from "../fuzz/plan-request.js";
import { type Received, type Sent, send } from "../fuzz/send.js";
import { fillIds } from "../fuzz/tenant.js";
import type { System } from "../system/start-system.js";
import { type Actor, proofWith, type Right } from "./actor.js";
import { idsOf } from "./find-leak.js";
import { recipes } from "./recipes.js";

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

const markText = fc.nat(2).map((n) => `{{mark:${n}}}`);

/** An operation by somebody, with ids of somebody, who may be another. */
export interface Act {
  readonly operation: Operation;
  readonly actor: Actor;
  readonly right: Right;
  readonly victim: Actor;
  /** Chooses ids and values. */
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
