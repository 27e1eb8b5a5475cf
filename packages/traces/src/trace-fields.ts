import { jsonObjectField, optionalChoice, textField, timestampField } from "@waymark/service/fields";
import { z } from "zod";
import { type Columns, type Field, isoText, membersOf, namesWhere, textOf, timestamp } from "./field-table.js";
import { traceStatuses } from "./statuses.js";

/** Every field of a trace but its ids, in the order of answers. Insertion, reading, JSON, lists and OpenAPI follow it. */
export const traceFields = {
  agent_id: {
    type: "text",
    size: "short",
    body: textField({ min: 1, max: 255 }).describe("Your name for the agent; it is created on first use"),
    answer: z.string(),
  },
  name: {
    type: "text",
    size: "short",
    body: textField({ min: 1, max: 1_000 }).describe("A readable name of the task or query"),
    answer: z.string(),
  },
  status: {
    type: "text",
    body: z.enum(traceStatuses),
    change: optionalChoice(traceStatuses),
    answer: z.enum(traceStatuses),
  },
  started_at: { type: "timestamptz", body: timestampField(), answer: timestamp },
  ended_at: {
    type: "timestamptz",
    body: timestampField().nullish(),
    change: timestampField().nullish(),
    answer: timestamp.nullable(),
  },
  metadata: {
    type: "json",
    size: "content",
    body: jsonObjectField().optional(),
    answer: z.record(z.string(), z.unknown()).nullable(),
  },
} as const satisfies Record<string, Field>;

export type TraceFieldName = keyof typeof traceFields;
type ListedName = Exclude<TraceFieldName, "metadata">;

/** The body of `POST /traces` (trace contract, "Trace"). */
export const newTraceSchema = z.object(membersOf(traceFields, "body"));
/** The body of `PATCH /traces/:trace_id`: only what is given changes. */
export const finalTraceSchema = z.object(membersOf(traceFields, "change"));
const { metadata, ...listedAnswers } = membersOf(traceFields, "answer");
/** The members of a list's entry, and of a trace. */
export const traceAnswers = { listed: { id: z.string(), ...listedAnswers }, metadata };

export type NewTrace = z.output<typeof newTraceSchema>;
export type FinalTrace = z.output<typeof finalTraceSchema>;

export const listedNames = namesWhere<typeof traceFields, ListedName>(traceFields, (_, name) => name !== "metadata");
export const sizedTraceNames = namesWhere(traceFields, (field: Field) => field.size !== undefined);

/** The columns of rows of traces. */
export function traceColumns<Row>(traceOf: (row: Row) => NewTrace): Columns<Row> {
  const names = namesWhere(traceFields, () => true);
  return Object.fromEntries(
    names.map((name) => [name, { type: traceFields[name].type, of: (row) => textOf(traceOf(row)[name]) }]),
  );
}

/** A field of the trace `t` as lists answer it. */
export function listedSql(name: ListedName): string {
  return traceFields[name].type === "timestamptz" ? isoText(`t.${name}`) : `t.${name}`;
}

/** A field of the trace `t` as JSON text. */
export function traceMemberSql(name: TraceFieldName): string {
  const { type, body }: Field = traceFields[name];
  if (type === "text") return `to_json(t.${name})`;
  const json = type === "json" ? `t.${name}` : `'"' || ${isoText(`t.${name}`)} || '"'`;
  return body.isOptional() ? `COALESCE(${json}, 'null')` : json;
}
