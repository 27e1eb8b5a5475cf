import type { Span, Trace } from "@waymark/client";
import { JsonText, jsonElementMembers, jsonMembers } from "@waymark/service/fields";
import { opaqueNames } from "@waymark/traces";

const ofTrace = ["metadata"] as const;
const ofSpan = [...opaqueNames, "otel"] as const;

/** The trace of an answer, with the texts of its contents in place of their parsed values. */
export function withTexts(trace: Trace, answer: string): Trace {
  const found = jsonElementMembers(answer, "spans", ofSpan, Number.POSITIVE_INFINITY);
  const spans = typeof found === "string" ? [] : found;
  return {
    ...trace,
    ...(textsOf(jsonMembers(answer, ofTrace)) as Partial<Trace>),
    spans: trace.spans.map((span, n) => ({ ...span, ...(textsOf(spans[n] ?? []) as Partial<Span>) })),
  };
}

function textsOf(members: Iterable<readonly [string, string]>): Record<string, JsonText | null> {
  return Object.fromEntries([...members].map(([name, text]) => [name, text === "null" ? null : new JsonText(text)]));
}
