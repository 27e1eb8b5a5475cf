import { z } from "zod";
import { isoText, timestamp } from "../field-table.js";
import { spanKinds, spanStatuses } from "../statuses.js";

export const stepSchema = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(spanKinds),
  status: z.enum(spanStatuses),
  parent_span_id: z.string().nullable(),
  started_at: timestamp,
  duration_ms: z.number().nullable(),
  error: z.string().nullable(),
});
export type Step = z.output<typeof stepSchema>;

const maxErrorText = 300;
/** Names and ids that a list of steps shows: their senders may make them longer. */
const maxName = 200;

export const stepColumns = `s.id, left(s.name, ${maxName}) AS name, COALESCE(s.kind, 'other') AS kind, s.status,
  left(s.parent_span_id, ${maxName}) AS parent_span_id, ${isoText("s.started_at")} AS started_at,
  (extract(epoch FROM s.ended_at - s.started_at) * 1000)::float8 AS duration_ms, left(s.error, ${maxErrorText}) AS error`;

/** Some text of a content: whole if `characters` is its length. */
export interface Excerpt {
  head: string;
  tail: string;
  /** Of the whole. */
  characters: number;
}

export const textNames = ["error", "input", "output"] as const;
type TextName = (typeof textNames)[number];

export interface StepTexts {
  step: Step;
  texts: Partial<Record<TextName, Excerpt>>;
}

/** Columns with the start and the end of each text of a span `s`, up to `parameter` characters each. */
export function excerptColumns(parameter: string): string {
  const columns = textNames.map((name) => {
    const text = `s.${name}::text`;
    return `left(${text}, ${parameter}) AS ${name}_head, length(${text}) AS ${name}_length,
      right(${text}, LEAST(${parameter}, GREATEST(0, length(${text}) - ${parameter}))) AS ${name}_tail`;
  });
  return columns.join(", ");
}

export type StepRow = Step & { [Name in `${TextName}_${"head" | "tail"}`]?: string | null } & {
  [Name in `${TextName}_length`]?: number | null;
};

export function stepOf(row: StepRow): StepTexts {
  const texts: StepTexts["texts"] = {};
  for (const name of textNames) {
    const [head, characters] = [row[`${name}_head`], row[`${name}_length`]];
    if (typeof head === "string" && typeof characters === "number")
      texts[name] = { head, tail: row[`${name}_tail`] ?? "", characters };
  }
  const { id, name, kind, status, parent_span_id, started_at, duration_ms, error } = row;
  return { step: { id, name, kind, status, parent_span_id, started_at, duration_ms, error }, texts };
}
