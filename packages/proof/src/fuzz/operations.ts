import type { JsonSchema, OpenApiDocument, OpenApiOperation } from "@waymark/service/http";
import { type ServiceName, type System, serviceNames } from "../system/start-system.js";

/** A method of a path, as a service's document describes it. */
export interface Operation {
  readonly service: ServiceName;
  readonly method: string;
  /** With braces, such as `/api/v1/traces/{trace_id}`. */
  readonly path: string;
  readonly description: OpenApiOperation;
  readonly document: OpenApiDocument;
}

/** The name of an operation in counts and lists. */
export function nameOf({ service, method, path }: Pick<Operation, "service" | "method" | "path">): string {
  return `${service} ${method} ${path}`;
}

/** Paths without a description: pages, documents, the tracker's script. */
const plainPaths: Readonly<Record<ServiceName, readonly string[]>> = {
  "trace-api": ["/", "/docs", "/openapi.json", "/dashboard/{page}", "/{unknown}"],
  "analytics-api": ["/", "/docs", "/openapi.json", "/dashboard/{page}", "/{unknown}"],
  collector: ["/", "/docs", "/openapi.json", "/{unknown}"],
  dashboard: ["/", "/dashboard", "/dashboard/{page}", "/dashboard/link/{token}", "/assets/{file}", "/{unknown}"],
};

/** Reads the operations of running services; the dashboard shows its own to a viewer. */
export async function readOperations(system: Pick<System, "url">, cookie: string): Promise<Operation[]> {
  const operations: Operation[] = [];
  for (const service of serviceNames) {
    const path = service === "dashboard" ? "/dashboard/api/openapi.json" : "/openapi.json";
    const answer = await fetch(system.url(service) + path, { headers: { Cookie: cookie } });
    if (!answer.ok) throw new Error(`${service} answered ${answer.status} for ${path}`);
    const document = (await answer.json()) as OpenApiDocument;
    for (const [each, methods] of Object.entries(document.paths)) {
      for (const [method, description] of Object.entries(methods)) {
        operations.push({ service, method: method.toUpperCase(), path: each, description, document });
      }
    }
    for (const plain of plainPaths[service]) {
      operations.push({ service, method: "GET", path: plain, description: undescribed, document });
    }
  }
  return operations;
}

const undescribed: OpenApiOperation = {
  operationId: "",
  summary: "",
  tags: ["pages"],
  security: [],
  parameters: [],
  responses: {},
};

/** Follows a reference to a named schema. */
export function followReference(schema: JsonSchema, document: OpenApiDocument): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (document.components?.schemas?.[name] ?? {});
}
