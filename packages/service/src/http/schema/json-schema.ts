import { isDeepStrictEqual } from "node:util";
import { z } from "zod";

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

export type NamedSchemas = Record<string, JsonSchema>;

const refPrefix = "#/components/schemas/";

/** Names a schema, so descriptions refer to it and generated clients have a type of that name. */
export function named<Schema extends z.ZodType>(name: string, schema: Schema): Schema {
  return schema.meta({ "x-name": name });
}

/** Metadata `x-json` and `x-form` describe fields checked by a function. `schemas` receives the named ones. */
export function toJsonSchema(schema: z.ZodType, io: "input" | "output", schemas: NamedSchemas): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => describeFurther(jsonSchema as JsonSchema, schemas),
  }) as JsonSchema;
  return rest;
}

function describeFurther(schema: JsonSchema, schemas: NamedSchemas): void {
  const { "x-json": json, "x-form": form, "x-name": name, ...own } = schema;
  if (json === undefined && form === undefined && name === undefined) return;
  const { description } = own;
  const stated = form ? { ...(form as JsonSchema), ...(description !== undefined && { description }) } : own;
  if (json === "object") Object.assign(stated, { type: ["object", "null"], additionalProperties: true });
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

export function resolveSchema(schema: JsonSchema, schemas: NamedSchemas = {}): JsonSchema {
  return schema.$ref === undefined ? schema : (schemas[schema.$ref.slice(refPrefix.length)] ?? schema);
}

/** @param name in API descriptions; without details it is `Error` */
export function errorSchema(details: z.ZodRawShape = {}, name?: string): z.ZodType {
  const schema = z.object({ error: z.string(), ...details });
  const ownName = name ?? (Object.keys(details).length === 0 ? "Error" : undefined);
  return ownName === undefined ? schema : named(ownName, schema);
}

export function validationErrorSchema(): z.ZodType {
  return errorSchema({ fields: z.record(z.string(), z.string()) }, "ValidationError");
}

export interface OpenApiParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  /** Of a list: false for one parameter with commas, true for a parameter per value. */
  explode?: boolean;
  schema: JsonSchema;
  example?: string;
}
