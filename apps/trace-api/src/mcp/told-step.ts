import {
  type Excerpt,
  labelsSchema,
  maxMetadataText,
  type StepTexts,
  stepSchema,
  type TraceSummary,
  textNames,
  traceAnswers,
} from "@waymark/traces";
import { z } from "zod";

/** A text of an answer, to be shown as far as there is room: it becomes a member. */
export interface Slot {
  excerpt: Excerpt;
  of: Record<string, unknown>;
  name: string;
}

const jsonLength = (text: string) => JSON.stringify(text).length;

/** Shows texts within some characters of JSON: short ones whole, of long ones the start and the end. */
export function fitTexts(slots: readonly Slot[], room: number): void {
  let left = room;
  const measured = slots.map((slot) => ({ ...slot, whole: wholeOf(slot.excerpt) }));
  const needs = measured.map((slot) => ({ ...slot, need: slot.whole === undefined ? room : jsonLength(slot.whole) }));
  needs.sort((a, b) => a.need - b.need);
  for (const [at, { excerpt, whole, need, of, name }] of needs.entries()) {
    const share = Math.max(0, Math.floor(left / (needs.length - at)));
    const text = whole !== undefined && need <= share ? whole : cut(excerpt, share);
    of[name] = text;
    left -= jsonLength(text);
  }
}

function wholeOf({ head, tail, characters }: Excerpt): string | undefined {
  if (head.length + tail.length < characters) return undefined;
  return [...head].length + [...tail].length === characters ? head + tail : undefined;
}

/** Text takes at most six characters of JSON each, so a few rounds find its length. */
function cut({ head, tail, characters }: Excerpt, room: number): string {
  const mark = ` … [cut: ${characters} characters in all] … `;
  for (let units = room - mark.length; units > 0; units = Math.floor(units * 0.7)) {
    const last = tail || head.slice(units);
    const text = `${head.slice(0, Math.ceil(units * 0.7))}${mark}${last.slice(-Math.max(1, Math.floor(units * 0.3)))}`;
    if (jsonLength(text) <= room) return text.toWellFormed();
  }
  return mark.trim();
}

/** A step with its texts: strings, also where they are JSON. */
export const toldStepSchema = stepSchema.extend({ input: z.string().nullable(), output: z.string().nullable() });
type ToldStep = z.output<typeof toldStepSchema>;

export const summarySchema = z.object({
  ...traceAnswers.listed,
  duration_ms: z.number().nullable(),
  ...labelsSchema.shape,
  spans: z.number(),
  errors: z.number().describe("Failed spans"),
  models: z.array(z.string()),
  metadata: z.string().nullable().describe(`Its JSON, at most ${maxMetadataText} characters`),
});

export function presentTrace({ trace, spans, errors, models, metadata }: TraceSummary): z.output<typeof summarySchema> {
  return { ...trace, spans, errors, models, metadata };
}

export function emptyStep({ step }: StepTexts): ToldStep {
  return { ...step, error: null, input: null, output: null };
}

export function toldTexts({ texts }: StepTexts, told: ToldStep): Slot[] {
  return textNames.flatMap((name) => {
    const excerpt = texts[name];
    return excerpt ? [{ excerpt, of: told, name }] : [];
  });
}

/** The end of a path, after its first step, as far as there is room. */
export function pathWithin<Step>(path: readonly Step[], room: number): Step[] {
  const [first, ...others] = path;
  if (first === undefined) return [];
  let left = room - JSON.stringify(first).length;
  let from = others.length;
  while (from > 0 && (from === others.length || left > 0)) left -= JSON.stringify(others[--from]).length + 40;
  return [first, ...others.slice(from)];
}
