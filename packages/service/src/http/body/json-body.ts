import { validationError } from "@waymark/errors";
import type { Request, Response } from "express";
import { type JsonMember, JsonText, jsonElementMembers, jsonMembers, jsonShape } from "../../fields/index.js";
import { type BodyBudget, createBytesReader } from "./body-bytes.js";
import { unsupportedMediaType } from "./media-type.js";

/** How deeply arrays and objects may nest, the body's own braces included (design, "Common to both services"). */
const maxJsonDepth = 200;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A parsed body with opaque members as {@link JsonText}. */
export type JsonBody = Record<string, unknown>;

/** The members of a body kept as JSON text; see {@link JsonText}. */
export interface OpaqueMembers {
  opaqueKeys?: readonly string[];
  /** A list with opaque members in its elements. A longer or repeated one is refused before anything is parsed. */
  opaqueElements?: { list: string; keys: readonly string[]; most: number };
}

export interface BodyReaderOptions {
  /** Reads any content type as JSON: browsers send `text/plain`, since it needs no preflight. */
  isAnyTypeJson?: boolean;
  budget?: BodyBudget;
}

/**
 * Reads a JSON body.
 * @param opaque the members to keep as text
 * @param onBytes receives the inflated body before it is parsed
 * @throws AppError 413, 415, or 400 with `fields.body`
 */
export type ReadJson = (
  request: Request,
  response: Response,
  opaque: OpaqueMembers,
  onBytes?: (bytes: Buffer) => void,
) => Promise<JsonBody>;

/** Makes a reader of JSON bodies; see {@link createBytesReader} for the size limit and the encodings. */
export function createBodyReader(
  limitBytes: number,
  { isAnyTypeJson = false, budget }: BodyReaderOptions = {},
): ReadJson {
  const readBytes = createBytesReader(limitBytes, budget);
  return async (request, response, opaque, onBytes) => {
    if (!isAnyTypeJson) checkContentType(request);
    const bytes = await readBytes(request, response);
    const text = readText(bytes);
    onBytes?.(bytes);
    return parseJsonObject(text, opaque);
  };
}

/**
 * Parses a JSON body, for routes decoding their body.
 * @param maxDepth of arrays and objects in each other
 * @returns the value, its text, and the number of members in the text, doubled ones too
 * @throws AppError 400 with `fields.body`
 */
export function parseJsonBody(bytes: Buffer, maxDepth: number): { value: unknown; text: string; members: number } {
  const text = readText(bytes);
  const members = checkDepth(text, maxDepth);
  return { value: parse(text), text, members };
}

function checkContentType(request: Request): void {
  const header = request.headers["content-type"];
  if (header === "application/json") return;
  const [type, ...parameters] = (header ?? "").toLowerCase().split(";");
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="));
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset);
  if (type?.trim() === "application/json" && isUtf8) return;
  throw unsupportedMediaType(["application/json"]);
}

function readText(bytes: Buffer): string {
  if (bytes.length === 0) throw validationError({ body: "Must be a JSON object, and it is empty" });
  try {
    return utf8.decode(bytes);
  } catch (error) {
    throw validationError({ body: "Must be UTF-8" }, error);
  }
}

function parseJsonObject(text: string, { opaqueKeys, opaqueElements }: OpaqueMembers): JsonBody {
  // First, since it stops at the first element too many.
  const membersOfElements = opaqueElements && readElements(text, opaqueElements);
  checkDepth(text, maxJsonDepth);
  const body = parse(text);
  if (!isObject(body)) throw validationError({ body: "Must be a JSON object" });
  if (opaqueKeys?.some((key) => isPresent(body, key))) keepTexts(body, jsonMembers(text, opaqueKeys));
  const elements = opaqueElements && body[opaqueElements.list];
  if (Array.isArray(elements)) {
    membersOfElements?.forEach((members, index) => {
      if (members) keepTexts(elements[index], members);
    });
  }
  return body;
}

function readElements(text: string, { list, keys, most }: NonNullable<OpaqueMembers["opaqueElements"]>) {
  const found = jsonElementMembers(text, list, keys, most);
  if (found === "repeated") throw validationError({ [list]: "Must be given once" });
  if (found === "too_long") throw validationError({ [list]: `Must be at most ${most} elements` });
  return found;
}

/** Replaces the values of members by their texts, except null. The last of doubled members counts. */
function keepTexts(object: JsonBody, members: Iterable<JsonMember>): void {
  for (const [key, text] of members) if (isPresent(object, key)) object[key] = new JsonText(text);
}

function isPresent(object: JsonBody, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== null;
}

function isObject(value: unknown): value is JsonBody {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns the members of the text */
function checkDepth(text: string, most: number): number {
  const { depth, members } = jsonShape(text);
  if (depth > most) throw validationError({ body: `Must not nest deeper than ${most} levels` });
  return members;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split("\n")[0] : "";
    throw validationError({ body: `Must be JSON: ${describeJsonError(reason ?? "")}` }, error);
  }
}

/** V8's message without its excerpt of the body, since that may be long. */
function describeJsonError(message: string): string {
  const position = /position (\d+)/.exec(message)?.[1];
  if (position !== undefined) return `it breaks off or goes wrong at character ${position}`;
  return message.includes("end of JSON") ? "it ends too early" : "it is malformed";
}
