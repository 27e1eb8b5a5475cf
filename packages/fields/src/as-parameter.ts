import type { z } from "zod";

/**
 * Describes a query parameter in OpenAPI. Query values arrive as text and transforms parse them, so the schema itself only
 * knows a string.
 * @param form the JSON Schema of the value
 */
export function asParameter<Schema extends z.ZodType>(form: Readonly<Record<string, unknown>>, schema: Schema): Schema {
  return schema.meta({ ...schema.meta(), "x-form": form });
}
