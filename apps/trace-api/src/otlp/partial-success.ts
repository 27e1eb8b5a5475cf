import { validationError } from "@waymark/errors";
import { upgradePath } from "@waymark/plan";
import type { MappedRequest, PartialSuccess } from "@waymark/traces/otlp";
import { maxSpansPerTrace, traceFull } from "../spans/trace-capacity.js";
import { agentLimitError, byteLimitError, type TraceQuota, traceLimitError } from "../usage/trace-quota.js";
import { maxContextsPerTrace } from "./add-spans.query.js";
import type { StoreSpansResult } from "./store-spans.js";

/**
 * Counts and explains a request's refused spans.
 * @returns undefined if no span was refused
 * @throws AppError where no span was stored: 400 if all are invalid, else the error of the limit that refused them
 */
export function partialSuccessOf(
  { spans, refused: unfit }: MappedRequest,
  { refused, usedBytes = 0 }: StoreSpansResult,
  quota: TraceQuota,
): PartialSuccess | undefined {
  const reasons = [...unfit].map(([problem, count]) => `${count} invalid: ${problem}`);
  const invalid = [...unfit.values()].reduce((sum, count) => sum + count, 0);
  if (invalid > 0 && spans.length === 0) {
    throw validationError({ body: `No span is valid: ${[...unfit.keys()].join("; ")}` });
  }
  if (refused.context_limit > 0) {
    const problem = `a trace must not have more than ${maxContextsPerTrace} resources and scopes`;
    if (refused.context_limit === spans.length) throw validationError({ body: `No span is valid: ${problem}` });
    reasons.unshift(`${refused.context_limit} invalid: ${problem}`);
  }
  if (refused.span_limit > 0) {
    if (refused.span_limit === spans.length) throw traceFull();
    reasons.unshift(`${refused.span_limit} of traces that have ${maxSpansPerTrace} spans already`);
  }
  const overPlan = refused.agent_limit + refused.trace_limit + refused.byte_limit;
  if (overPlan > 0 && overPlan === spans.length) {
    if (refused.trace_limit > 0) throw traceLimitError(quota);
    throw refused.byte_limit > 0 ? byteLimitError(quota, usedBytes) : agentLimitError(quota);
  }
  if (refused.agent_limit > 0) {
    reasons.unshift(
      `${refused.agent_limit} of further agents: Free plan limited to 1 agent; upgrade at ${upgradePath}`,
    );
  }
  if (refused.trace_limit > 0) {
    const limit = `the limit of ${quota.plan.tracesPerMonth} traces a month`;
    reasons.unshift(`${refused.trace_limit} over ${limit}; upgrade at ${upgradePath}`);
  }
  if (refused.byte_limit > 0) {
    reasons.unshift(`${refused.byte_limit} over the limit of ${quota.plan.bytesPerMonth} bytes a month`);
  }
  if (reasons.length === 0) return undefined;
  const errorMessage = `Spans were refused: ${reasons.join("; ")}`;
  return { rejectedSpans: overPlan + refused.span_limit + refused.context_limit + invalid, errorMessage };
}
