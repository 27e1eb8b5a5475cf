import type { JsonSchema } from "../schema/json-schema.js";

/** A parameter of an operation, as OpenAPI 3.1 writes it. */
export interface OpenApiParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  /** Of a list: whether each value is a parameter of its own, or all are one with commas between. */
  explode?: boolean;
  schema: JsonSchema;
  example?: string;
}
