import {
  labelsSchema,
  maxMetadataText,
  type StepTexts,
  stepSchema,
  type TraceSummary,
  textNames,
  traceAnswers,
} from "@waymark/traces";
import { z } from "zod";
import type { Slot } from "./fit-texts.js";

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
