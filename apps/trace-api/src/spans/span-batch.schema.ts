import { textField } from "@waymark/fields";
import { named } from "@waymark/http";
import { z } from "zod";
import { maxSpansPerStatement } from "./add-span.query.js";
import { type NewSpan, newSpanSchema } from "./span.schema.js";

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

/** A span of a batch, as it was checked. */
export type BatchSpan = z.output<typeof batchSpanSchema>;

/** The body of `POST /traces/:trace_id/spans/batch`. A list that is too long is refused before its elements are looked at. */
export const spanBatchSchema = z.object({
  spans: z.preprocess((input, context) => {
    if (!Array.isArray(input) || input.length <= maxSpansPerStatement) return input;
    context.addIssue({ code: "custom", message: `Must be at most ${maxSpansPerStatement} elements` });
    return z.NEVER;
  }, z.array(batchSpanSchema).min(1).max(maxSpansPerStatement).superRefine(checkReferences)),
});

/** Refuses references that are doubled, that name nothing, or that lead back to where they come from. */
function checkReferences(spans: readonly BatchSpan[], context: z.RefinementCtx): void {
  const refuse = (index: number, field: string, message: string) =>
    context.addIssue({ code: "custom", path: [index, field], message });
  const places = new Map<string, number>();
  spans.forEach(({ ref }, index) => {
    if (typeof ref !== "string") return;
    if (places.has(ref)) refuse(index, "ref", "Must be unique in the batch");
    else places.set(ref, index);
  });
  const parents = spans.map(({ parent_ref, parent_span_id }, index) => {
    if (typeof parent_ref !== "string") return undefined;
    const parent = places.get(parent_ref);
    if (parent === undefined) refuse(index, "parent_ref", "Must be the ref of a span of this batch");
    else if (parent === index) refuse(index, "parent_ref", "Must not be the span's own ref");
    else if (typeof parent_span_id === "string") refuse(index, "parent_ref", "Must not be given with parent_span_id");
    else return parent;
    return undefined;
  });
  for (const index of findCycles(parents)) refuse(index, "parent_ref", "Must not lead back to the span itself");
}

/** The places that lie on a cycle, of which each names its parent's place. Visits each place once. */
function findCycles(parents: readonly (number | undefined)[]): number[] {
  const visitedBy = new Map<number, number>();
  const onCycles: number[] = [];
  parents.forEach((_, start) => {
    let place: number | undefined = start;
    while (place !== undefined && !visitedBy.has(place)) {
      visitedBy.set(place, start);
      place = parents[place];
    }
    if (place === undefined || visitedBy.get(place) !== start) return;
    for (let on: number | undefined = place; on !== undefined; on = parents[on] === place ? undefined : parents[on]) {
      onCycles.push(on);
    }
  });
  return onCycles;
}

/**
 * Gives spans of a batch their ids, and parents named by reference the ids of these.
 * @param uuid makes rising ids, so that spans are read in the batch's order
 */
export function resolveReferences(batch: readonly BatchSpan[], uuid: () => string): { id: string; span: NewSpan }[] {
  const idOf = new Map<string, string>();
  const spans = batch.map((span) => {
    const id = uuid();
    if (typeof span.ref === "string") idOf.set(span.ref, id);
    return { id, span };
  });
  if (idOf.size === 0) return spans;
  return spans.map(({ id, span }) => {
    const parentId = typeof span.parent_ref === "string" ? idOf.get(span.parent_ref) : undefined;
    return parentId === undefined ? { id, span } : { id, span: { ...span, parent_span_id: parentId } };
  });
}
