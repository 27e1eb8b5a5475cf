import type { JsonSchema } from "./json-schema.js";

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
