import { validationError } from "@waymark/errors";
import type { Request } from "express";
import { z } from "zod";
import { editDistance } from "../../fields/edit-distance.js";
import type { JsonBody } from "../body/json-body.js";
import { inSteps } from "../limits/work-shares.js";

type RawIssue = Parameters<z.core.$ZodErrorMap>[0];

/** Parses client input. @throws AppError 400 with a sentence for each field (design, "Common to both services") */
export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = check(schema, input);
  if ("fields" in result) throw validationError(result.fields);
  return result.data;
}

/** Makes {@link validate} for bodies with a long list: its elements are parsed in steps. */
export function createListValidator(schema: z.ZodObject, name: string): (body: JsonBody) => Promise<unknown> {
  const list = schema.shape[name] as z.ZodArray<z.ZodType>;
  const unparsed = schema.extend({ [name]: list.clone({ ...list.def, element: z.unknown() }) });
  return async (body) => {
    const elements = body[name];
    const parsed = Array.isArray(elements) ? await inSteps(parseEach(list.element, elements)) : undefined;
    return parsed ? validate(unparsed, { ...body, [name]: parsed }) : validate(schema, body);
  };
}

/** @returns undefined where an element is invalid */
function* parseEach(schema: z.ZodType, elements: readonly unknown[]): Generator<void, unknown[] | undefined> {
  const parsed: unknown[] = [];
  for (const element of elements) {
    const { success, data } = schema.safeParse(element);
    if (!success) return undefined;
    parsed.push(data);
    yield;
  }
  return parsed;
}

function check<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
): { data: z.output<Schema> } | { fields: Record<string, string> } {
  const result = schema.safeParse(input, { error: describe });
  if (result.success) return { data: result.data };
  const fields: Record<string, string> = {};
  for (const issue of result.error.issues) {
    const path = issue.path.join(".") || "body";
    fields[path] ??= issue.message === required ? required + misnamed(input, issue.path) : issue.message;
  }
  return { fields };
}

const required = "Required";

/** Members of an object that are compared with a missing one. */
const maxCompared = 50;

/** Names the member that a client probably sent in place of a missing one, such as `agentId`. */
function misnamed(input: unknown, path: readonly PropertyKey[]): string {
  const missing = String(path.at(-1));
  let parent: unknown = input;
  for (const key of path.slice(0, -1)) parent = (parent as Record<PropertyKey, unknown> | null | undefined)?.[key];
  if (typeof parent !== "object" || parent === null || Array.isArray(parent)) return "";
  let compared = 0;
  for (const name in parent) {
    if (compared++ === maxCompared) break;
    if (name !== missing && name.length <= maxNameLength && plain(name) === plain(missing))
      return `; did you mean ${missing} by ${name}?`;
  }
  return "";
}

function describe(issue: RawIssue): string | undefined {
  if ((issue.input === undefined || issue.input === null) && issue.code !== "custom") return required;
  switch (issue.code) {
    case "invalid_type":
      return `Must be ${withArticle(issue.expected)}, not ${kindOf(issue.input)}`;
    case "invalid_value":
      return `Must be one of: ${issue.values.join(", ")}`;
    case "too_small":
      if (issue.origin === "string") return "Must not be empty";
      return issue.origin === "array" ? "Must not be an empty list" : `Must be at least ${issue.minimum}`;
    case "too_big":
      return `Must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    default:
      return undefined;
  }
}

function unitOf(origin: string): string {
  if (origin === "string") return " characters";
  return origin === "array" ? " elements" : "";
}

function withArticle(type: string): string {
  return type === "object" ? "a JSON object" : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function kindOf(input: unknown): string {
  if (Array.isArray(input)) return "an array";
  return withArticle(typeof input);
}

/** Unknown parameters named in one answer: a request line can hold thousands. */
const maxNamed = 10;

/** Longer names are no misspellings, and comparing them costs their length. */
const maxNameLength = 64;

export interface QueryRules<Query extends z.ZodType> {
  query?: Query;
  lenientQuery?: readonly string[];
}

/** Makes the reader of a route's query. It throws AppError 400 with a sentence for each wrong or unknown parameter. */
export function createQueryReader<Query extends z.ZodType>({ query: schema, lenientQuery }: QueryRules<Query>) {
  if (schema && !(schema instanceof z.ZodObject)) throw new Error("A query is an object of parameters");
  const known: readonly string[] = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  // The route has no strict parameter, so its query need not be parsed.
  const ignoresAll = !schema && lenientQuery !== undefined;
  const isStrict = (given: readonly string[]) =>
    lenientQuery === undefined || given.some((name) => known.includes(name) && !lenientQuery.includes(name));
  return (request: Pick<Request, "query">): z.output<Query> | undefined => {
    if (ignoresAll) return undefined;
    const { query } = request;
    const names = Object.keys(query);
    const unknown = names.filter((name) => !known.includes(name));
    const refused = unknown.length > 0 && isStrict(names) ? unknown.slice(0, maxNamed) : [];
    const result = schema ? check(schema, query) : undefined;
    const wrong = result && "fields" in result ? Object.entries(result.fields) : [];
    const fields = [...wrong, ...refused.map((name) => [name, sentenceFor(name, known)] as const)];
    // From entries: an assignment would lose a parameter called `__proto__`.
    if (fields.length > 0) throw validationError(Object.fromEntries(fields));
    return result && "data" in result ? result.data : undefined;
  };
}

function sentenceFor(name: string, known: readonly string[]): string {
  if (known.length === 0) return "Unknown parameter; there are none here";
  const near = nearestOf(name, known);
  return near === undefined
    ? `Unknown parameter; allowed are: ${known.join(", ")}`
    : `Unknown parameter; did you mean ${near}?`;
}

/** The known name that the client probably meant: another notation of it, its start, or a few letters off. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const given = plain(name);
  const distances = known.map((each) => ({ each, distance: distanceOf(given, plain(each)) }));
  const [nearest] = distances.sort((a, b) => a.distance - b.distance);
  return nearest && nearest.distance <= Math.max(1, Math.floor(given.length / 3)) ? nearest.each : undefined;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

function distanceOf(given: string, known: string): number {
  const [short, long] = given.length < known.length ? [given, known] : [known, given];
  if (short.length >= 3 && long.startsWith(short)) return 0.5;
  return editDistance(given, known);
}
