import { textField } from "@waymark/service/fields";
import { named } from "@waymark/service/http";
import { type NewSpan, newSpanSchema } from "@waymark/traces";
import { z } from "zod";
import { maxSpansPerStatement } from "./add-spans.js";

const refLength = { min: 1, max: 255 };

const batchSpanSchema = named(
  "BatchSpan",
  newSpanSchema.extend({
    ref: textField(refLength).nullish().describe("A name for this span within the batch; it is not stored"),
    parent_ref: textField(refLength)
      .nullish()
      .describe(
        "The `ref` of the span of the batch that this one is part of, before or after it; instead of `parent_span_id`",
      ),
  }),
);

export type BatchSpan = z.output<typeof batchSpanSchema>;

/** The body of `POST /traces/:trace_id/spans/batch`. The reader of bodies refuses a longer list before it is parsed. */
export const spanBatchSchema = z.object({
  spans: z.array(batchSpanSchema).min(1).max(maxSpansPerStatement).superRefine(checkReferences),
});

/** Refuses duplicate, unknown and circular references. */
function checkReferences(spans: readonly BatchSpan[], context: z.RefinementCtx): void {
  const refuse = (index: number, field: string, message: string) =>
    context.addIssue({ code: "custom", path: [index, field], message });
  const positions = new Map<string, number>();
  spans.forEach(({ ref }, index) => {
    if (typeof ref !== "string") return;
    if (positions.has(ref)) refuse(index, "ref", "Must be unique in the batch");
    else positions.set(ref, index);
  });
  const parents = spans.map(({ parent_ref, parent_span_id }, index) => {
    if (typeof parent_ref !== "string") return undefined;
    const parent = positions.get(parent_ref);
    if (parent === undefined) refuse(index, "parent_ref", "Must be the ref of a span of this batch");
    else if (parent === index) refuse(index, "parent_ref", "Must not be the span's own ref");
    else if (typeof parent_span_id === "string") refuse(index, "parent_ref", "Must not be given with parent_span_id");
    else return parent;
    return undefined;
  });
  for (const index of findCycles(parents)) refuse(index, "parent_ref", "Must not lead back to the span itself");
}

/** Finds the positions on a cycle, given the position of each parent. Visits each position once. */
function findCycles(parents: readonly (number | undefined)[]): number[] {
  const visitedBy = new Map<number, number>();
  const onCycles: number[] = [];
  parents.forEach((_, start) => {
    let position: number | undefined = start;
    while (position !== undefined && !visitedBy.has(position)) {
      visitedBy.set(position, start);
      position = parents[position];
    }
    if (position === undefined || visitedBy.get(position) !== start) return;
    for (
      let on: number | undefined = position;
      on !== undefined;
      on = parents[on] === position ? undefined : parents[on]
    ) {
      onCycles.push(on);
    }
  });
  return onCycles;
}

/** In the parsed spans themselves. @param uuid makes rising ids, so reads return the spans in the batch's order */
export function resolveReferences(batch: readonly BatchSpan[], uuid: () => string): { id: string; span: NewSpan }[] {
  const idOf = new Map<string, string>();
  const spans = batch.map((span) => {
    const id = uuid();
    if (typeof span.ref === "string") idOf.set(span.ref, id);
    return { id, span };
  });
  for (const { span } of spans) {
    if (typeof span.parent_ref === "string") span.parent_span_id = idOf.get(span.parent_ref);
  }
  return spans;
}
