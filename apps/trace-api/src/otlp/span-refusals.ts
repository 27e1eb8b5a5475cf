import { upgradePath } from "@waymark/plan";
import { maxSpansPerTrace } from "../spans/trace-capacity.js";
import type { Sender } from "../usage/trace-quota.js";
import { maxContextsPerTrace } from "./add-spans.query.js";
import type { StoreSpansResult } from "./store-spans.js";

export interface Refusals {
  count: number;
  /** A sentence each, without its full stop. */
  reasons: string[];
}

export const contextProblem = `a trace must not have more than ${maxContextsPerTrace} resources and scopes`;

/** Counts and explains the spans that limits refused. */
export function spanRefusals({ refused }: Pick<StoreSpansResult, "refused">, { plan }: Pick<Sender, "plan">): Refusals {
  const sentences: Record<keyof typeof refused, string> = {
    byte_limit: `over the limit of ${plan.bytesPerMonth} bytes a month`,
    trace_limit: `over the limit of ${plan.tracesPerMonth} traces a month; upgrade at ${upgradePath}`,
    agent_limit: `of further agents: Free plan limited to 1 agent; upgrade at ${upgradePath}`,
    span_limit: `of traces that have ${maxSpansPerTrace} spans already`,
    context_limit: `invalid: ${contextProblem}`,
  };
  const limits = (Object.keys(sentences) as (keyof typeof refused)[]).filter((limit) => refused[limit] > 0);
  return {
    count: limits.reduce((sum, limit) => sum + refused[limit], 0),
    reasons: limits.map((limit) => `${refused[limit]} ${sentences[limit]}`),
  };
}
