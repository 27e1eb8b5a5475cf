import { z } from "zod";
import { idempotencyKeyParameter } from "./idempotency-key.js";
import type { DocumentedAnswer, Route } from "./route.js";

export interface ApiDescription {
  title: string;
  version: string;
  /** Markdown. */
  description: string;
  /** Where the routes are mounted, such as `/api/v1`. */
  basePath: string;
  /** What a key of this service looks like, such as `wmk_trace_…`; absent where it needs none. */
  keyForm?: string;
  routes: readonly Route[];
  /** Operations elsewhere, whose bodies the routes' schemas cannot describe, by path and method. */
  further?: OpenApiDocument["paths"];
}

/** A JSON Schema, as far as this package reads one. */
export interface JsonSchema {
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

export interface OpenApiParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  schema: JsonSchema;
}

interface OpenApiMedia {
  schema: JsonSchema;
  example?: unknown;
}

export interface OpenApiOperation {
  operationId: string;
  summary: string;
  description?: string;
  parameters: OpenApiParameter[];
  requestBody?: { required: true; content: Record<string, OpenApiMedia> };
  responses: Record<
    string,
    { description: string; headers?: Record<string, unknown>; content: Record<string, OpenApiMedia> }
  >;
}

export interface OpenApiDocument {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string };
  /** Absent where the service needs no key. */
  security?: Record<string, string[]>[];
  components?: { securitySchemes: Record<string, unknown> };
  paths: Record<string, Record<string, OpenApiOperation>>;
}

/** The OpenAPI 3.1 document of a service, made from the schemas that check its requests. */
export function describeApi(api: ApiDescription): OpenApiDocument {
  const paths: OpenApiDocument["paths"] = {};
  for (const each of api.routes) {
    const path = (api.basePath + each.path).replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [each.method]: describeOperation(each) };
  }
  Object.assign(paths, api.further);
  paths["/health"] = { get: describeHealth() };
  return {
    openapi: "3.1.0",
    info: { title: api.title, version: api.version, description: api.description },
    ...(api.keyForm && describeKey(api.keyForm)),
    paths,
  };
}

function describeKey(form: string): Pick<OpenApiDocument, "security" | "components"> {
  const apiKey = { type: "http", scheme: "bearer", description: `An API key of this service: \`${form}\`` };
  return { security: [{ apiKey: [] }], components: { securitySchemes: { apiKey } } };
}

function describeOperation(each: Route): OpenApiOperation {
  const operation: OpenApiOperation = {
    operationId: each.operationId,
    summary: each.summary,
    parameters: [...pathParameters(each), ...queryParameters(each), ...headerParameters(each)],
    responses: Object.fromEntries(
      Object.entries(each.answers).map(([status, answer]) => [status, describeAnswer(answer)]),
    ),
  };
  if (each.description) operation.description = each.description;
  if (each.body) {
    const media = { schema: toJsonSchema(each.body, "input"), example: each.bodyExample };
    operation.requestBody = { required: true, content: { "application/json": media } };
  }
  return operation;
}

function pathParameters(each: Route): OpenApiParameter[] {
  return Object.entries(each.params ?? {}).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));
}

function queryParameters(each: Route): OpenApiParameter[] {
  if (!each.query) return [];
  const { properties = {}, required = [] } = toJsonSchema(each.query, "input");
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(schema.description && { description: schema.description }),
    schema,
  }));
}

function headerParameters(each: Route): OpenApiParameter[] {
  return each.takesIdempotencyKey ? [idempotencyKeyParameter] : [];
}

function describeAnswer(answer: DocumentedAnswer): OpenApiOperation["responses"][string] {
  const media = {
    schema: toJsonSchema(answer.schema, "output"),
    ...(answer.example !== undefined && { example: answer.example }),
  };
  const headers = answer.headers?.map((name) => [
    name,
    { schema: { type: /^(RateLimit-|Retry-After$)/.test(name) ? "integer" : "string" } },
  ]);
  const texts = Object.entries(answer.textExamples ?? {}).map(([type, example]) => [
    type,
    { schema: { type: "string" }, example },
  ]);
  return {
    description: answer.description,
    ...(headers && { headers: Object.fromEntries(headers) }),
    content: { [answer.contentType ?? "application/json"]: media, ...Object.fromEntries(texts) },
  };
}

function describeHealth(): OpenApiOperation {
  const schema = toJsonSchema(z.object({ status: z.literal("ok") }), "output");
  return {
    operationId: "health",
    summary: "Whether the service is up; needs no key",
    parameters: [],
    responses: {
      200: { description: "The service is up", content: { "application/json": { schema, example: { status: "ok" } } } },
    },
  };
}

/** Fields that keep JSON as text say by `x-json` which JSON they take, since their own check is a function. */
function toJsonSchema(schema: z.ZodType, io: "input" | "output"): JsonSchema {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      const kind = jsonSchema["x-json"];
      delete jsonSchema["x-json"];
      if (kind === "object") jsonSchema.type = ["object", "null"] as unknown as "object";
    },
  }) as JsonSchema;
  return rest;
}
