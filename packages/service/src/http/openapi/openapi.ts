import { z } from "zod";
import { idempotencyKeyParameter } from "../route/idempotency-key.js";
import type { DocumentedAnswer, MediaTypes, Route } from "../route/route.js";
import { type JsonSchema, type NamedSchemas, type OpenApiParameter, toJsonSchema } from "../schema/json-schema.js";

export interface ApiDescription<Described extends Route = Route> {
  title: string;
  version: string;
  description: string;
  basePath: string;
  /** The shape of the service's keys, such as `wmk_trace_…`; absent if it needs none. */
  keyForm?: string;
  /** Whether routes without a scope need no key. */
  isPublic?: boolean;
  routes: readonly Described[];
  /** Answers common to routes, by status, such as 401; a route's own answers take precedence. */
  commonAnswers?(route: Described): Readonly<Record<number, DocumentedAnswer>>;
}

interface OpenApiMedia {
  schema: JsonSchema;
  example?: unknown;
}

export interface OpenApiOperation {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  /** Empty if this operation needs no key; with the scope of the key it needs, if there are scopes. */
  security: [] | [{ apiKey: string[] }];
  parameters: OpenApiParameter[];
  requestBody?: { required: true; content: Record<string, OpenApiMedia> };
  responses: Record<
    string,
    { description: string; headers?: Record<string, unknown>; content: Record<string, OpenApiMedia> }
  >;
}

export interface OpenApiDocument {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  security?: Record<string, string[]>[];
  components?: { securitySchemes?: Record<string, unknown>; schemas?: NamedSchemas };
  paths: Record<string, Record<string, OpenApiOperation>>;
}

export function describeApi(api: ApiDescription): OpenApiDocument {
  const paths: OpenApiDocument["paths"] = {};
  const schemas: NamedSchemas = {};
  for (const each of api.routes) {
    const path = ((each.basePath ?? api.basePath) + each.path).replace(/:(\w+)/g, "{$1}");
    const answers = { ...api.commonAnswers?.(each), ...each.answers };
    paths[path] = { ...paths[path], [each.method]: describeOperation(each, { api, path, answers, schemas }) };
  }
  Object.assign(paths, { "/health": { get: health }, "/ready": { get: ready } });
  const components = {
    ...(api.keyForm && { securitySchemes: { apiKey: describeKey(api.keyForm) } }),
    ...(Object.keys(schemas).length > 0 && { schemas }),
  };
  return {
    openapi: "3.1.0",
    info: {
      title: api.title,
      version: api.version,
      description: api.description,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: tagsOf(paths),
    ...(api.keyForm && !api.isPublic && { security: [{ apiKey: [] }] }),
    ...(Object.keys(components).length > 0 && { components }),
    paths,
  };
}

function describeKey(form: string) {
  return { type: "http", scheme: "bearer", description: `An API key of this service: \`${form}\`` };
}

function tagOf(path: string, basePath: string): string {
  const [, first = ""] = path.replace(basePath, "").split("/");
  return first === "v1" ? "opentelemetry" : first;
}

function tagsOf(paths: OpenApiDocument["paths"]): OpenApiDocument["tags"] {
  const placed = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const { tags } of Object.values(operations)) placed.set(tags[0], [...(placed.get(tags[0]) ?? []), path]);
  }
  return [...placed].map(([name, [first = ""]]) => ({ name, description: `Calls such as \`${first}\`` }));
}

interface Described {
  api: ApiDescription;
  path: string;
  answers: Readonly<Record<number, DocumentedAnswer>>;
  schemas: NamedSchemas;
}

function describeOperation(each: Route, { api, path, answers, schemas }: Described): OpenApiOperation {
  const operation: OpenApiOperation = {
    operationId: each.operationId,
    summary: each.summary,
    tags: [tagOf(path, api.basePath)],
    security: needsKey(each, api) ? [{ apiKey: each.scope === undefined ? [] : [each.scope] }] : [],
    parameters: [...pathParameters(each), ...queryParameters(each, schemas), ...headerParameters(each)],
    responses: Object.fromEntries(
      Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, schemas)]),
    ),
  };
  if (each.description) operation.description = each.description;
  const statuses = Object.keys(answers);
  // Routes of pages have no description.
  const isOpen = statuses.length > 0 && !statuses.some((status) => status.startsWith("4"));
  if (isOpen) operation.responses[405] = wrongMethod;
  if (each.body) {
    const { body, bodyExample } = each;
    const media = body instanceof z.ZodType ? { "application/json": { schema: body, example: bodyExample } } : body;
    operation.requestBody = { required: true, content: describeMedia(media, "input", schemas) };
  }
  return operation;
}

function needsKey({ scope }: Route, { keyForm, isPublic = false }: ApiDescription): boolean {
  return keyForm !== undefined && !(isPublic && scope === undefined);
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

function queryParameters(each: Route, schemas: NamedSchemas): OpenApiParameter[] {
  if (!each.query) return [];
  const { properties = {}, required = [] } = toJsonSchema(each.query, "input", schemas);
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    ...(schema.description && { description: schema.description }),
    ...(schema.type === "array" && { explode: false }),
    schema,
  }));
}

function headerParameters(each: Route): OpenApiParameter[] {
  const read = Object.entries(each.headers ?? {}).map(
    ([name, header]): OpenApiParameter => ({
      name,
      in: "header",
      required: false,
      schema: { type: "string" },
      ...header,
    }),
  );
  return each.takesIdempotencyKey ? [idempotencyKeyParameter, ...read] : read;
}

function describeAnswer(answer: DocumentedAnswer, schemas: NamedSchemas): OpenApiOperation["responses"][string] {
  const headers = answer.headers?.map((name) => [
    name,
    { schema: { type: /^(RateLimit-|Retry-After$)/.test(name) ? "integer" : "string" } },
  ]);
  const media = { [answer.contentType ?? "application/json"]: answer, ...answer.otherMedia };
  return {
    description: answer.description,
    ...(headers && { headers: Object.fromEntries(headers) }),
    content: describeMedia(media, "output", schemas),
  };
}

function describeMedia(media: MediaTypes, io: "input" | "output", schemas: NamedSchemas): Record<string, OpenApiMedia> {
  const described = Object.entries(media).map(([type, { schema, example }]) => [
    type,
    { schema: toJsonSchema(schema, io, schemas), ...(example !== undefined && { example }) },
  ]);
  return Object.fromEntries(described);
}

function jsonAnswer(description: string, properties: Record<string, JsonSchema>, example: unknown) {
  const schema = { type: "object", properties, required: Object.keys(properties) };
  return { description, content: { "application/json": { schema, example } } };
}

const wrongMethod = jsonAnswer("Another method", { error: { type: "string" } }, { error: "Method not allowed" });

const isOk: JsonSchema = { const: "ok" };

const health: OpenApiOperation = {
  operationId: "health",
  summary: "Whether the service is up; needs no key",
  tags: ["health"],
  security: [],
  parameters: [],
  responses: { 200: jsonAnswer("The service is up", { status: isOk }, { status: "ok" }), 405: wrongMethod },
};

const checks: JsonSchema = { type: "object", additionalProperties: { enum: ["ok", "failed"] } };

const ready: OpenApiOperation = {
  operationId: "ready",
  summary: "Whether the service is ready; needs no key",
  description:
    "Checks each store for at most two seconds. A failed store that the service can do without is named, but the answer stays 200.",
  tags: ["health"],
  security: [],
  parameters: [],
  responses: {
    200: jsonAnswer(
      "All required stores answer",
      { status: isOk, checks },
      { status: "ok", checks: { database: "ok" } },
    ),
    405: wrongMethod,
    503: jsonAnswer(
      "A required store does not answer",
      { error: { type: "string" }, checks },
      { error: "Not ready: database", checks: { database: "failed" } },
    ),
  },
};
