import type { JsonSchema, OpenApiDocument } from "@waymark/service/http";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { ServiceName } from "../system/start-system.js";
import type { Operation } from "./operations.js";
import type { Received } from "./send.js";

/** Statuses that any path may answer without naming them: `description` of the documents. */
const commonStatuses = [401, 404, 405, 413, 415, 429];

/** The dashboard's document names no answers, and no document names methods that are not there. */
const unnamedStatuses = [400, 402, 403, 409, 410, 422];

/** Answers of the dashboard's routes beside 200. */
const writtenStatuses = [201, 202];

/** Answers of the pages and of static files. */
const pageStatuses = [200, 302, 303, 304, 307, 308];

const errorShape: JsonSchema = {
  type: "object",
  properties: { error: { type: "string", minLength: 1 } },
  required: ["error"],
};

/** Checks an answer against the service's document. Returns what is wrong, if anything is. */
export type CheckAnswer = (operation: Operation, method: string, received: Received) => string | undefined;

/** Makes the check; schemas are compiled when an answer needs them. */
export function createAnswerCheck(): CheckAnswer {
  const ajv = new Ajv2020({ strict: false, allErrors: false });
  addFormats.default(ajv);
  const isError = ajv.compile(errorShape);
  const validators = new Map<string, ValidateFunction>();
  const validatorOf = (service: ServiceName, document: OpenApiDocument, pointer: string) => {
    const key = `${service}#${pointer}`;
    if (!ajv.getSchema(service)) ajv.addSchema({ ...document, $id: service }, service, undefined, false);
    const known = validators.get(key) ?? ajv.compile({ $ref: key });
    validators.set(key, known);
    return known;
  };
  const mismatch = (validate: ValidateFunction, text: string) => {
    const value = parse(text);
    if (value === undefined) return `not JSON: ${text.slice(0, 200)}`;
    return validate(value) ? undefined : `${ajv.errorsText(validate.errors)} in ${text.slice(0, 300)}`;
  };
  return (operation, method, received) => {
    const { status, headers, text } = received;
    const general = findGeneralFault(received);
    if (general || status === 431 || method === "HEAD" || method === "OPTIONS" || status === 304) return general;
    const type = (headers["content-type"] ?? "").split(";")[0] ?? "";
    const named = operation.document.paths[operation.path]?.[method.toLowerCase()];
    const described = named?.responses[status];
    if (described) {
      if (!(type in described.content)) return `its document has no ${type} for ${status}`;
      if (type !== "application/json") return undefined;
      const names = [
        "paths",
        operation.path,
        method.toLowerCase(),
        "responses",
        String(status),
        "content",
        type,
        "schema",
      ];
      return mismatch(validatorOf(operation.service, operation.document, pointerOf(names)), text);
    }
    if (status < 400) {
      const isPlain = Object.keys(operation.description.responses).length === 0;
      if (!isPlain || ![...pageStatuses, ...(named ? writtenStatuses : [])].includes(status))
        return `its document has no ${status}`;
      return type === "application/json" && parse(text) === undefined ? "not JSON" : undefined;
    }
    const more = named === undefined || operation.service === "dashboard" ? unnamedStatuses : [];
    if (![...commonStatuses, ...more].includes(status)) return `its document has no ${status}`;
    // OpenTelemetry's and MCP's errors have forms of their own; a page's is a page.
    if (/\/(v1\/traces|mcp)$/.test(operation.path))
      return parse(text) === undefined ? "an error that is not JSON" : undefined;
    return type === "text/html" ? undefined : mismatch(isError, text);
  };
}

function findGeneralFault({ status, headers, text }: Received): string | undefined {
  if (status >= 500) return `answered ${status}: ${text.slice(0, 300)}`;
  // Node refuses headers of more than 16 KiB before any code of ours runs.
  if (status === 431) return undefined;
  if (headers["x-request-id"] === undefined) return "no X-Request-Id";
  if (status === 429 && headers["retry-after"] === undefined) return "429 without Retry-After";
  if (/node_modules\/|\n {4}at [\w.]+ \(/.test(text)) return "an answer with a stack";
  return undefined;
}

function pointerOf(names: readonly string[]): string {
  return names.map((name) => `/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
