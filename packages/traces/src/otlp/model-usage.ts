import { createHash } from "node:crypto";
import { formatUuid } from "@waymark/database";
import { jsonMembers } from "@waymark/service/fields";
import { jsonOfValue, storableText } from "./any-value.js";
import { conventions, inputBesideCache, providerlessMark, type UsageNames } from "./conventions.js";
import type { KeyValue } from "./request.js";

export interface ModelUsage {
  /** In lower case; "" if the span names none. */
  provider: string;
  /** The answering model, else the requested one; "" if the span names none. */
  model: string;
  /** Null for a span with a cost and no tokens. */
  tokens: Tokens | null;
  /** The sender's cost in dollars, a decimal number. */
  cost: string | null;
}

export interface Tokens {
  /** With the cached ones, and those written to a cache. */
  input: number;
  /** With the reasoning ones. */
  output: number;
  cachedInput: number;
  cacheWrite: number;
  reasoning: number;
}

/** No model takes as many; the sums of a day stay within 64 bits. */
const maxTokens = 1_000_000_000;
const maxNameLength = 255;

const namesOf = (field: keyof UsageNames) => conventions.flatMap(({ usage }) => usage?.[field] ?? []);
const sources = {
  inputTokens: namesOf("inputTokens"),
  outputTokens: namesOf("outputTokens"),
  cachedInputTokens: namesOf("cachedInputTokens"),
  cacheWriteTokens: namesOf("cacheWriteTokens"),
  reasoningTokens: namesOf("reasoningTokens"),
  model: [...namesOf("model"), ...namesOf("requestedModel")],
  provider: namesOf("provider"),
  cost: namesOf("cost"),
  costParts: namesOf("costParts"),
  tokenDetails: namesOf("tokenDetails"),
  costDetails: namesOf("costDetails"),
};
const { model: _model, provider: _provider, ...reports } = sources;
/** Names of which a span has one if it reports a model call. */
const reporting = new Set(Object.values(reports).flat());
const known = new Set([...Object.values(sources).flat(), providerlessMark]);
const knownKeys = { includes: (key: string) => known.has(key) };

/** Values by attribute name, as JSON text. */
type Values = ReadonlyMap<string, string>;

export function usageOfAttributes(attributes: readonly KeyValue[]): ModelUsage | null {
  if (!attributes.some(({ key }) => reporting.has(key))) return null;
  const values = new Map<string, string>();
  for (const { key, value } of attributes) if (known.has(key)) values.set(key, jsonOfValue(value));
  return readUsage(values);
}

/** @param json the attributes as a valid JSON object */
export function usageOfJson(json: string): ModelUsage | null {
  return readUsage(jsonMembers(json, knownKeys));
}

function readUsage(values: Values): ModelUsage | null {
  const tokens = detailedTokens(values) ?? namedTokens(values);
  const cost = detailedCost(values) ?? first(values, sources.cost, decimalOf) ?? summedCost(values);
  if (!tokens && cost === undefined) return null;
  const named = values.has(providerlessMark) ? undefined : first(values, sources.provider, textOf);
  const provider = named?.toLowerCase() ?? "";
  const model = first(values, sources.model, textOf) ?? "";
  return { provider, model, tokens: tokens ?? null, cost: cost ?? null };
}

/** A score of a span. */
export interface Evaluation {
  /** A UUID from the span and what is said: a repeated one has the same. */
  readonly id: string;
  readonly spanId: string;
  readonly name: string;
  /** A number or a text. */
  readonly number: number | null;
  readonly text: string | null;
  readonly comment: string | null;
}

export const evaluationStart = "gen_ai.evaluation.";
export const evaluationName = `${evaluationStart}name`;
const evaluationNames = {
  name: evaluationName,
  value: "gen_ai.evaluation.score.value",
  label: "gen_ai.evaluation.score.label",
  explanation: "gen_ai.evaluation.explanation",
} as const;
const evaluationKeys = Object.values<string>(evaluationNames);

/** The bounds of scores in the trace API. */
const bounds = { name: 100, text: 1_000, comment: 4_000, number: 1e15 } as const;

/** @param at tells equal judgements apart @param json the attributes of an event or a span, a JSON object */
export function evaluationOfJson(spanId: string, at: string, json: string): Evaluation | undefined {
  const values = jsonMembers(json, evaluationKeys);
  const read = (name: keyof typeof evaluationNames) => values.get(evaluationNames[name]) ?? "";
  const textIn = (name: keyof typeof evaluationNames, most: number) => {
    const given = read(name);
    return given.startsWith('"') ? storableText(JSON.parse(given).trim(), most) : "";
  };
  const [name, label] = [textIn("name", bounds.name), textIn("label", bounds.text)];
  const value = read("value") === "" ? Number.NaN : Number(read("value"));
  const number = Math.abs(value) <= bounds.number ? value : null;
  if (name === "" || (number === null && label === "")) return undefined;
  const said = [number === null ? "" : label, textIn("explanation", bounds.comment)].filter(Boolean).join(": ");
  const comment = storableText(said, bounds.comment) || null;
  const told = { spanId, name, number, text: number === null ? label : null, comment };
  const hash = createHash("sha256")
    .update(JSON.stringify([at, told]))
    .digest();
  return { id: formatUuid(hash), ...told };
}

function first<T>(values: Values, names: readonly string[], read: (json: string) => T | undefined): T | undefined {
  for (const name of names) {
    const json = values.get(name);
    const value = json === undefined ? undefined : read(json);
    if (value !== undefined) return value;
  }
  return undefined;
}

function namedTokens(values: Values): Tokens | undefined {
  const read = (names: readonly string[]) => first(values, names, countOf);
  const input = read(sources.inputTokens);
  const output = read(sources.outputTokens);
  const cachedInput = read(sources.cachedInputTokens);
  const cacheWrite = read(sources.cacheWriteTokens);
  const reasoning = read(sources.reasoningTokens);
  const found = [input, output, cachedInput, cacheWrite, reasoning];
  if (found.every((count) => count === undefined)) return undefined;
  const counts = { cachedInput: cachedInput ?? 0, cacheWrite: cacheWrite ?? 0, reasoning: reasoning ?? 0 };
  const isApart = sources.inputTokens.find((name) => values.has(name)) === inputBesideCache;
  const apart = isApart ? counts.cachedInput + counts.cacheWrite : 0;
  return wholeTokens({ input: (input ?? 0) + apart, output: output ?? 0, ...counts });
}

/** A part that is larger than the whole is not in it: some senders count cached or reasoning tokens apart. */
function wholeTokens({ input, output, cachedInput, cacheWrite, reasoning }: Tokens): Tokens {
  const cache = cachedInput + cacheWrite;
  return {
    input: cache > input ? input + cache : input,
    output: reasoning > output ? output + reasoning : output,
    cachedInput,
    cacheWrite,
    reasoning,
  };
}

/** Langfuse counts each kind apart, https://langfuse.com/docs/observability/features/token-and-cost-tracking */
function detailedTokens(values: Values): Tokens | undefined {
  const details = first(values, sources.tokenDetails, objectOf);
  if (!details) return undefined;
  const asOpenAi = openAiTokens(details);
  if (asOpenAi) return asOpenAi;
  const counts = [...details].flatMap(([kind, json]) => {
    const count = countOf(json);
    return count === undefined ? [] : [[kind, count] as const];
  });
  const sum = (isPart: (kind: string) => boolean) =>
    counts.reduce((total, [kind, count]) => total + (isPart(kind) ? count : 0), 0);
  const isOutput = (kind: string) => kind.startsWith("output") || kind.startsWith("completion");
  const isInput = (kind: string) => kind !== "total" && !isOutput(kind) && /input|prompt|cache/.test(kind);
  const isWrite = (kind: string) => isInput(kind) && /cache_(creation|write)/.test(kind);
  if (!counts.some(([kind]) => isInput(kind) || isOutput(kind))) return undefined;
  return {
    input: sum(isInput),
    output: sum(isOutput),
    cachedInput: sum((kind) => isInput(kind) && kind.includes("cache") && !isWrite(kind)),
    cacheWrite: sum(isWrite),
    reasoning: sum((kind) => isOutput(kind) && kind.includes("reasoning")),
  };
}

/** OpenAI's own form of usage, which Langfuse takes too, and LangChain's: the parts are within the wholes. */
function openAiTokens(details: Values): Tokens | undefined {
  const nested = [...details.keys()].filter((kind) => /_tokens?_details$/.test(kind));
  if (nested.length === 0 && !details.has("prompt_tokens")) return undefined;
  const count = (...kinds: string[]) => first(details, kinds, countOf) ?? 0;
  const parts = new Map(nested.flatMap((kind) => [...(objectOf(details.get(kind) ?? "") ?? [])]));
  const part = (...names: string[]) => first(parts, names, countOf) ?? 0;
  return wholeTokens({
    input: count("prompt_tokens", "input_tokens"),
    output: count("completion_tokens", "output_tokens"),
    cachedInput: part("cached_tokens", "cache_read"),
    cacheWrite: part("cache_creation"),
    reasoning: part("reasoning_tokens", "reasoning"),
  });
}

function detailedCost(values: Values): string | undefined {
  const details = first(values, sources.costDetails, objectOf);
  if (!details) return undefined;
  const total = decimalOf(details.get("total") ?? details.get("total_cost") ?? "");
  return total ?? addDecimals([...details.values()].flatMap((json) => decimalOf(json) ?? []));
}

function summedCost(values: Values): string | undefined {
  return addDecimals(sources.costParts.flatMap((name) => decimalOf(values.get(name) ?? "") ?? []));
}

/** Longer details are not read: no call has as many kinds of tokens. */
const maxDetails = 16_384;

/** The members of an object, also of one written into a string. */
function objectOf(json: string): Map<string, string> | undefined {
  if (json.length > maxDetails) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    const text = typeof value === "string" ? value : json;
    const object: unknown = typeof value === "string" ? JSON.parse(value) : value;
    if (typeof object !== "object" || object === null || Array.isArray(object)) return undefined;
    return new Map(jsonMembers(text, Object.keys(object)));
  } catch {
    return undefined;
  }
}

function textOf(json: string): string | undefined {
  if (!json.startsWith('"')) return undefined;
  const given: string = JSON.parse(json).slice(0, maxNameLength);
  // MLflow's texts are JSON themselves.
  const text = given.replace(/^"(.*)"$/, "$1");
  return text.trim() !== "" ? storableText(text.trim(), maxNameLength) : undefined;
}

/** A whole number, also in a string. */
function countOf(json: string): number | undefined {
  const count = Number(json.replace(/^"(.*)"$/, "$1") || Number.NaN);
  return Number.isInteger(count) && count >= 0 && count <= maxTokens ? count : undefined;
}

function decimalOf(json: string): string | undefined {
  return plainDecimal(json.replace(/^"(.*)"$/, "$1"));
}

/** Places of a sender's decimal number; the rest is below all money. */
const maxPlaces = 30;
const maxDigits = 9;

const decimalPattern = /^(\d{1,40})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,3}))?$/i;

/** A decimal without exponent, cut at 30 places; undefined for other texts, negative ones, and a billion and more. */
export function plainDecimal(text: string): string | undefined {
  const match = decimalPattern.exec(text);
  if (!match) return undefined;
  const [, whole = "", places = "", exponent = "0"] = match;
  const shift = Number(exponent);
  const digits = whole + places;
  const point = whole.length + shift;
  const padded = point > 0 ? digits.padEnd(point, "0") : "0".repeat(1 - point) + digits;
  const at = Math.max(point, 1);
  const integer = padded.slice(0, at).replace(/^0+(?=\d)/, "");
  if (integer.length > maxDigits) return undefined;
  const rest = padded.slice(at, at + maxPlaces).replace(/0+$/, "");
  return rest === "" ? integer : `${integer}.${rest}`;
}

/** The exact sum of plain decimals; undefined for none. */
export function addDecimals(numbers: readonly string[]): string | undefined {
  if (numbers.length === 0) return undefined;
  const sum = numbers.reduce((total, number) => total + scaled(number), 0n);
  const digits = sum.toString().padStart(maxPlaces + 1, "0");
  return plainDecimal(`${digits.slice(0, -maxPlaces)}.${digits.slice(-maxPlaces)}`);
}

function scaled(number: string): bigint {
  const [whole = "", places = ""] = number.split(".");
  return BigInt(whole + places.padEnd(maxPlaces, "0"));
}
