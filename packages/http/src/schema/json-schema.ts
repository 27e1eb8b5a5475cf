import { isDeepStrictEqual } from "node:util";
import { z } from "zod";

/** A JSON Schema, as far as this package reads one. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  anyOf?: JsonSchema[];
  enum?: unknown[];
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  format?: string;
  description?: string;
  default?: unknown;
  [key: string]: unknown;
}

/** Schemas that a document has under `components/schemas`, by name. */
export type NamedSchemas = Record<string, JsonSchema>;

const refPrefix = "#/components/schemas/";

/** Gives a schema a name: descriptions then refer to it, so that generated clients have a type of that name. */
export function named<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return schema.meta({ "x-name": name });
}

/**
 * A schema as JSON Schema. Fields that keep JSON as text say by `x-json` which JSON they take, since their own check is a
 * function.
 * @param schemas takes those that have a name; in their place stand references
 */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output", schemas: NamedSchemas): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => describeFurther(jsonSchema as JsonSchema, schemas),
  }) as JsonSchema;
  return rest;
}

/** Replaces our own members of a schema, in place, by what they stand for. */
function describeFurther(schema: JsonSchema, schemas: NamedSchemas): void {
  const { "x-json": json, "x-form": form, "x-name": name, ...own } = schema;
  if (json === undefined && form === undefined && name === undefined) return;
  const { description } = own;
  const stated = form ? { ...(form as JsonSchema), ...(description !== undefined && { description }) } : own;
  if (json === "object") stated.type = ["object", "null"];
  for (const member of Object.keys(schema)) delete schema[member];
  if (typeof name !== "string") {
    Object.assign(schema, stated);
    return;
  }
  const known = schemas[name];
  if (known && !isDeepStrictEqual(known, stated)) throw new Error(`Two different schemas are called ${name}`);
  schemas[name] = stated;
  schema.$ref = refPrefix + name;
}

/** The schema that a reference names, or the schema itself. */
export function resolveSchema(schema: JsonSchema, schemas: NamedSchemas = {}): JsonSchema {
  return schema.$ref === undefined ? schema : (schemas[schema.$ref.slice(refPrefix.length)] ?? schema);
}
