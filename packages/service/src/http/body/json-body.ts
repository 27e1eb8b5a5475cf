import { isUtf8 } from "node:buffer";
import { AppError, validationError } from "@waymark/errors";
import type { Request, Response } from "express";
import {
  type JsonLayout,
  type JsonMember,
  type JsonShape,
  JsonText,
  jsonElementMembers,
  jsonMembers,
  jsonShape,
  parseInPieces,
  readOutline,
} from "../../fields/index.js";
import { inSteps } from "../limits/work-shares.js";
import { type BodyBudget, createBytesReader } from "./body-bytes.js";

export function mediaTypeOf(request: Request): string {
  return (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export function requireMediaType(request: Request, allowed: readonly string[]): string {
  const mediaType = mediaTypeOf(request);
  if (!allowed.includes(mediaType)) throw unsupportedMediaType(allowed);
  return mediaType;
}

function unsupportedMediaType(allowed: readonly string[]): AppError {
  return new AppError("unsupported_media_type", { details: { allowed }, headers: { Accept: allowed.join(", ") } });
}

/** How deeply arrays and objects may nest, the body's own braces included (design, "Common to both services"). */
const maxJsonDepth = 200;

/** Reads past the byte order mark. */
const utf8 = new TextDecoder();
const byteOrderMark = Buffer.from("\ufeff");

export type JsonBody = Record<string, unknown>;

/** `JSON.parse` takes some milliseconds for as many values or characters. */
const maxParsedValues = 20_000;
const maxParsedLength = 1_048_576;

interface BodyReaderOptions {
  /** Reads any content type as JSON: browsers send `text/plain`, since it needs no preflight. */
  isAnyTypeJson?: boolean;
  budget?: BodyBudget;
}

/**
 * @param layout what is read, and what is kept as text; with its `keys`, {@link readOutline} reads large bodies by it
 * @param onBytes receives the inflated body before it is parsed
 * @throws AppError 413, 415, or 400 with `fields.body`
 */
export type ReadJson = (
  request: Request,
  response: Response,
  layout: JsonLayout,
  onBytes?: (bytes: Buffer) => void,
) => Promise<JsonBody>;

export function createBodyReader(
  limitBytes: number,
  { isAnyTypeJson = false, budget }: BodyReaderOptions = {},
): ReadJson {
  const readBytes = createBytesReader(limitBytes, budget);
  return async (request, response, layout, onBytes) => {
    if (!isAnyTypeJson) checkContentType(request);
    const bytes = await readBytes(request, response);
    const text = readText(bytes);
    onBytes?.(bytes);
    // An outline measures what it reads.
    const { values } = await checkDepth(bytes, maxJsonDepth, layout.keys && maxParsedValues);
    const isLarge = values > maxParsedValues || text.length > maxParsedLength;
    return layout.keys && isLarge ? outlineJsonObject(text, layout) : parseJsonObject(text, layout);
  };
}

/** A JSON body in UTF-8, for routes decoding it. */
interface JsonBytes {
  bytes: Buffer;
  shape: JsonShape;
}

/** @throws AppError 400 with `fields.body` where the body is empty, not in UTF-8 or too deep */
export async function shapeJson(body: Buffer, maxDepth: number): Promise<JsonBytes> {
  checkText(body);
  const hasMark = body.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  const bytes = hasMark ? body.subarray(byteOrderMark.length) : body;
  return { bytes, shape: await checkDepth(bytes, maxDepth) };
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
  checkText(bytes);
  return utf8.decode(bytes);
}

function checkText(bytes: Buffer): void {
  if (bytes.length === 0) throw validationError({ body: "Must be a JSON object, and it is empty" });
  if (!isUtf8(bytes)) throw validationError({ body: "Must be UTF-8" });
}

function parseJsonObject(text: string, { opaqueKeys, list }: JsonLayout): JsonBody {
  const membersOfElements = list && readElements(text, list);
  const body = checkObject(parseJson(text));
  if (opaqueKeys?.some((key) => isPresent(body, key))) keepTexts(body, jsonMembers(text, opaqueKeys));
  const elements = list && body[list.name];
  if (Array.isArray(elements)) {
    membersOfElements?.forEach((members, index) => {
      if (members) keepTexts(elements[index], members);
    });
  }
  return body;
}

type JsonList = NonNullable<JsonLayout["list"]>;

function readElements(text: string, list: JsonList) {
  const { name, opaqueKeys = [], most } = list;
  const found = jsonElementMembers(text, name, opaqueKeys, most);
  if (typeof found === "string") throw listProblem(list, found);
  return found;
}

function listProblem({ name, most }: JsonList, problem: "repeated" | "too_long") {
  return validationError({
    [name]: problem === "repeated" ? "Must be given once" : `Must be at most ${most} elements`,
  });
}

async function outlineJsonObject(text: string, layout: JsonLayout): Promise<JsonBody> {
  const found = await inSteps(readOutline(text, layout, maxJsonDepth));
  if ("value" in found) return checkObject(found.value);
  if (found.problem === "too_deep") throw tooDeep(maxJsonDepth);
  if (found.problem !== "malformed") throw listProblem(layout.list as JsonList, found.problem);
  throw malformed(text, found.at);
}

/** Replaces the values of members by their texts, except null. The last of doubled members counts. */
function keepTexts(object: JsonBody, members: Iterable<JsonMember>): void {
  for (const [key, text] of members) if (isPresent(object, key)) object[key] = new JsonText(text);
}

function isPresent(object: JsonBody, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== null;
}

function checkObject(value: unknown): JsonBody {
  if (!isObject(value)) throw validationError({ body: "Must be a JSON object" });
  return value;
}

function isObject(value: unknown): value is JsonBody {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function checkDepth(bytes: Buffer, most: number, enough?: number): Promise<JsonShape> {
  const shape = await inSteps(jsonShape(bytes, { enough }));
  if (shape.depth > most) throw tooDeep(most);
  return shape;
}

function tooDeep(most: number) {
  return validationError({ body: `Must not nest deeper than ${most} levels` });
}

interface ReadJsonOptions<Read> {
  /** That the text does not exceed. */
  maxDepth: number;
  readersAt?: readonly string[] | undefined;
  /** What to parse in its place, as malformed as it. */
  as?: JsonBytes | undefined;
  read(value: unknown): Promise<Read>;
}

/**
 * Parses in steps of some milliseconds.
 * @param options `read` reads the value, and calls the readers at `readersAt`, see {@link parseInPieces}
 * @throws AppError 400 with `fields.body`
 */
export async function parseJsonInSteps<Read>(
  json: JsonBytes,
  { maxDepth, readersAt, as = json, read }: ReadJsonOptions<Read>,
): Promise<Read> {
  try {
    return await read(await inSteps(parseInPieces(as.bytes, as.shape, { readersAt })));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const text = json.bytes.toString();
    const found = await inSteps(readOutline(text, { keys: [] }, maxDepth));
    throw malformed(text, "at" in found ? found.at : text.length, error);
  }
}

function malformed(text: string, at: number, cause?: unknown) {
  const problem = at < text.length ? wrongAt(at) : "it ends too early";
  return validationError({ body: `Must be JSON: ${problem}` }, cause);
}

function parseJson(text: string): unknown {
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
  if (position !== undefined) return wrongAt(position);
  return message.includes("end of JSON") ? "it ends too early" : "it is malformed";
}

function wrongAt(position: string | number): string {
  return `it breaks off or goes wrong at character ${position}`;
}
