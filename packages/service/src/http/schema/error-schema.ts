import { z } from "zod";
import { named } from "./json-schema.js";

/**
 * @param details members beside `error`
 * @param name the schema's name in API descriptions; without details it is `Error`
 */
export function errorSchema(details: z.ZodRawShape = {}, name?: string): z.ZodType {
  const schema = z.object({ error: z.string(), ...details });
  const ownName = name ?? (Object.keys(details).length === 0 ? "Error" : undefined);
  return ownName === undefined ? schema : named(ownName, schema);
}

export function validationErrorSchema(): z.ZodType {
  return errorSchema({ fields: z.record(z.string(), z.string()) }, "ValidationError");
}
