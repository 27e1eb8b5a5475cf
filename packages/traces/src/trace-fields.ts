import {
  asParameter,
  jsonObjectField,
  optionalChoice,
  textField,
  textProblem,
  timestampField,
} from "@waymark/service/fields";
import { z } from "zod";
import { type Columns, type Field, isoText, membersOf, namesWhere, textOf, timestamp } from "./field-table.js";
import { traceStatuses } from "./statuses.js";

export const maxLabel = 200;
export const maxTags = 20;
export const maxTag = 100;
/** With those of its spans. */
export const maxScoresPerTrace = 100;

const answer = z.string().nullable();
const label = (description: string) => {
  const body = textField({ min: 1, max: maxLabel }).nullish().describe(description);
  return { type: "text", size: "short", body, change: body, answer } as const;
};

const tagsMessage = `Must be a list of at most ${maxTags} texts of 1 to ${maxTag} characters`;

const tags = asParameter(
  {
    type: ["array", "null"],
    items: { type: "string", minLength: 1, maxLength: maxTag },
    maxItems: maxTags,
  },
  z
    .custom<readonly string[] | null>((input) => input === null || isTags(input), tagsMessage)
    .transform((list): readonly string[] | null => list && [...new Set(list)])
    .optional()
    .describe("Further labels; each counts once"),
);

function isTags(input: unknown): boolean {
  if (!Array.isArray(input) || input.length > maxTags) return false;
  return input.every((text) => {
    return typeof text === "string" && text !== "" && text.length <= maxTag && textProblem(text) === undefined;
  });
}

/** What a trace is found by, beyond the trace contract: optional in bodies, and in answers where `include` asks. */
const labelFields = {
  session_id: label("Your id of the conversation"),
  user_id: label("Your id of the user"),
  environment: label("Such as `production`"),
  release: label("The version of your program"),
  tags: { type: "text[]", size: "short", body: tags, change: tags, answer: z.array(z.string()) },
} as const satisfies Record<string, Field>;

export type LabelName = keyof typeof labelFields;
export const textLabels = ["session_id", "user_id", "environment", "release"] as const satisfies readonly LabelName[];
export const labelNames = [...textLabels, "tags"] as const satisfies readonly LabelName[];

export const labelsSchema = z.object({
  session_id: labelFields.session_id.answer,
  user_id: labelFields.user_id.answer,
  environment: labelFields.environment.answer,
  release: labelFields.release.answer,
  tags: labelFields.tags.answer,
});

export type Labels = z.output<typeof labelsSchema>;

/** Labels that traces must have, exactly; of the tags one. */
export type LabelsToFind = { [Name in LabelName]?: string | undefined };

const exact = (what: string) =>
  textField({ min: 1, max: maxLabel }).optional().describe(`Only traces of this ${what}, exactly`);

export const labelParameters = {
  session_id: exact("conversation"),
  user_id: exact("user"),
  environment: exact("environment"),
  release: exact("release"),
  tag: textField({ min: 1, max: maxTag }).optional().describe("Only traces with this tag"),
};

type LabelQuery = { [Name in keyof typeof labelParameters]?: string | undefined };

export function labelsToFind({ tag, ...query }: LabelQuery): LabelsToFind {
  return { ...Object.fromEntries(textLabels.map((name) => [name, query[name]])), tags: tag };
}

/** Whether a row of `trace` has a label. */
export function labelSql(name: LabelName, parameter: string): string {
  return name === "tags" ? `${parameter} = ANY (tags)` : `${name} = ${parameter}`;
}

/** Whether a row of `trace` has all labels of a query: for statements with `values` as parameters from `first` on. */
export interface LabelCondition {
  sql(first: number): string;
  values: readonly (string | null)[];
}

export const labelsSql: LabelCondition["sql"] = (first) =>
  labelNames.map((name, n) => `($${first + n}::text IS NULL OR ${labelSql(name, `$${first + n}`)})`).join(" AND ");

export function labelCondition(labels: LabelsToFind = {}): LabelCondition {
  return { sql: labelsSql, values: labelNames.map((name) => labels[name] ?? null) };
}

export function labelsAsked(query: LabelQuery): LabelCondition | undefined {
  const labels = labelsToFind(query);
  return givenLabels(labels).length > 0 ? labelCondition(labels) : undefined;
}

export function givenLabels(labels: LabelsToFind): [name: LabelName, text: string][] {
  return labelNames.flatMap((name) => {
    const text = labels[name];
    return text === undefined ? [] : [[name, text] as [LabelName, string]];
  });
}

/** Every field of the contract but the ids, in the order of answers. Insertion, reading, JSON, lists and OpenAPI follow it. */
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

const storedFields = { ...traceFields, ...labelFields };

const visit = textField({ min: 1, max: maxLabel })
  .nullish()
  .describe("A visit's token by `waymark.visit()`; never stored");
/** The body of `POST /traces` (trace contract, "Trace"). */
export const newTraceSchema = z.object({ ...membersOf(storedFields, "body"), visit });
/** The body of `PATCH /traces/:trace_id`: only what is given changes. */
export const finalTraceSchema = z.object(membersOf(storedFields, "change"));
const { metadata, ...listedAnswers } = membersOf(traceFields, "answer");
export const traceAnswers = { listed: { id: z.string(), ...listedAnswers }, metadata };

export type NewTrace = z.output<typeof newTraceSchema>;
export type FinalTrace = z.output<typeof finalTraceSchema>;

export const listedNames = namesWhere<typeof traceFields, ListedName>(traceFields, (_, name) => name !== "metadata");
export const sizedTraceNames = namesWhere(storedFields, (field: Field) => field.size !== undefined);

/** Whether a trace needs the columns of labels. */
export function hasLabels(trace: NewTrace): boolean {
  return labelNames.some((name) => trace[name] !== undefined && trace[name] !== null);
}

/** The columns of rows of traces. Statements for traces without labels are shorter. */
export function traceColumns<Row>(withLabels: boolean, traceOf: (row: Row) => NewTrace): Columns<Row> {
  const names = namesWhere(storedFields, (_, name) => withLabels || name in traceFields);
  const readerOf = (name: (typeof names)[number]) => (row: Row) =>
    textOf(traceOf(row)[name]) ?? (name === "tags" ? "{}" : undefined);
  return Object.fromEntries(names.map((name) => [name, { type: storedFields[name].type, of: readerOf(name) }]));
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
