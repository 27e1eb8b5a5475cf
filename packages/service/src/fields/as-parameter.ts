import type { z } from "zod";

/** Describes a query parameter by the JSON Schema of its value: the Zod schema only shows the text it parses. */
export function asParameter<Schema extends z.ZodType>(
  jsonSchema: Readonly<Record<string, unknown>>,
  schema: Schema,
): Schema {
  return schema.meta({ ...schema.meta(), "x-form": jsonSchema });
}
