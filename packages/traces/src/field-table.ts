import { binaryArray } from "@waymark/database";
import type { JsonText } from "@waymark/service/fields";
import { z } from "zod";

/** A time as an answer gives it. */
export const timestamp = z.string().meta({ format: "date-time" });

/** SQL for a timestamp as answers show it: UTC with `Z`, milliseconds, and microseconds if there are any. Needs a session in UTC. */
export function isoText(column: string): string {
  return `replace(to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '000Z', 'Z')`;
}

/** The members of a row that a schema has, in its order. */
export function membersIn<Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape>, row: z.output<z.ZodObject<Shape>>) {
  const names = Object.keys(schema.shape) as (keyof typeof row)[];
  return Object.fromEntries(names.map((name) => [name, row[name]])) as typeof row;
}

/** A field of a row that clients send and read: its column has its name. */
export interface Field {
  /** Of its column. */
  readonly type: "text" | "text[]" | "timestamptz" | "json";
  /** Of a value that its sender may make long: a `content` of a span is read apart, cut, and downloaded. */
  readonly size?: "short" | "content";
  /** In the body that adds a row. */
  readonly body: z.ZodType;
  /** In the body that changes a row; without it the field never changes. */
  readonly change?: z.ZodType;
  readonly answer: z.ZodType;
}

type Member = "body" | "change" | "answer";

export type NamesWith<Fields, Key extends string, Value> = {
  [Name in keyof Fields]: Fields[Name] extends Readonly<Record<Key, Value>> ? Name : never;
}[keyof Fields];

type MembersOf<Fields, Key extends Member> = {
  [Name in NamesWith<Fields, Key, z.ZodType>]: Fields[Name] extends Readonly<Record<Key, infer Type extends z.ZodType>>
    ? Type
    : never;
};

export function membersOf<Fields extends Readonly<Record<string, Field>>, Key extends Member>(
  fields: Fields,
  key: Key,
): MembersOf<Fields, Key> {
  const members = Object.entries(fields).flatMap(([name, field]) => (field[key] ? [[name, field[key]] as const] : []));
  return Object.fromEntries(members) as MembersOf<Fields, Key>;
}

/** The names of the fields that meet a condition, in the order of the table. */
export function namesWhere<Fields extends Readonly<Record<string, Field>>, Name extends keyof Fields = keyof Fields>(
  fields: Fields,
  condition: (field: Fields[keyof Fields] & Field, name: keyof Fields) => boolean,
): Name[] {
  const entries = Object.entries(fields) as [Name, Fields[keyof Fields]][];
  return entries.flatMap(([name, field]) => (condition(field, name) ? [name] : []));
}

type FieldValue = JsonText | readonly string[] | string | null | undefined;

export function textOf(value: FieldValue): string | null | undefined {
  if (isList(value)) return arrayLiteral(value);
  return typeof value === "object" ? value?.text : value;
}

function isList(value: FieldValue): value is readonly string[] {
  return Array.isArray(value);
}

/** A `text[]` as Postgres writes it (documentation, 8.15.6). */
export function arrayLiteral(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** Columns to send, in order: the type of each, and its value of a row. */
export type Columns<Row> = Readonly<Record<string, { readonly type: string; readonly of: (row: Row) => unknown }>>;

/** Rows of arrays as a table: the parameters from `$first` on, a column each, perhaps with their positions from 1. */
export function unnestSql<Row>(first: number, columns: Columns<Row>, { hasPosition = false } = {}): string {
  const arrays = Object.values(columns).map(({ type }, n) => `$${first + n}::${type.replace("[]", "")}[]`);
  const names = [...Object.keys(columns), ...(hasPosition ? ["position"] : [])];
  const table = `unnest(${arrays.join(", ")}) ${hasPosition ? "WITH ORDINALITY " : ""}AS r (${names.join(", ")})`;
  if (!Object.values(columns).some(isArray)) return table;
  // An array of arrays is one with two dimensions, so each goes as its text.
  const read = names.map((name) => (columns[name] && isArray(columns[name]) ? `${name}::text[]` : name));
  return `(SELECT ${read.join(", ")} FROM ${table}) AS r`;
}

const isArray = ({ type }: { readonly type: string }) => type.endsWith("[]");

/** The parameters of {@link unnestSql}. */
export function columnArrays<Row>(rows: readonly Row[], columns: Columns<Row>): unknown[] {
  return Object.values(columns).map(({ type, of }) => {
    if (type !== "json") return rows.map(of);
    return binaryArray(
      "json",
      rows.map((row) => (of(row) ?? null) as string | Uint8Array | null),
    );
  });
}

/** One row: the parameters from `$first` on. */
export function rowSql<Row>(first: number, columns: Columns<Row>): string {
  const casts = Object.values(columns).map(({ type }) => (type === "text" ? "" : `::${type}`));
  return casts.map((cast, n) => `$${first + n}${cast}`).join(", ");
}
