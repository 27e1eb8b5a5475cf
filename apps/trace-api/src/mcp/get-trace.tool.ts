import { principalOf } from "@waymark/auth";
import { isUuid } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import { maxCharsParameter, type ToolRead, toolRead } from "@waymark/service/mcp";
import {
  type Batching,
  contentNames,
  fewWaiting,
  listSteps,
  oneByOne,
  readFailingPath,
  readPart,
  readStep,
  type SpanKind,
  stepSchema,
  summarizeTrace,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";
import { eitherIdParameter, findTraceId } from "../path-ids.js";
import { kindParameter, type PartName, readParts, traceIncludeParameter } from "../traces/trace-answer.schema.js";
import {
  emptyStep,
  fitTexts,
  pathWithin,
  presentTrace,
  summarySchema,
  toldStepSchema,
  toldTexts,
} from "./told-step.js";

const query = z.object({
  span_id: z.string().optional().describe("One step with its texts in place of the outline"),
  field: z.enum(contentNames).optional().describe("With `span_id`: this text alone, in parts from `cursor` on"),
  kind: kindParameter,
  include: traceIncludeParameter,
  cursor: z.string().optional().describe("`next_cursor` of an earlier answer with the same arguments"),
  max_chars: maxCharsParameter,
});

const answer = z.object({
  trace: summarySchema.optional(),
  failing_path: z.array(stepSchema).optional().describe("From the root to the failing step"),
  steps: z
    .array(z.object({ name: z.string(), kind: z.string(), status: z.string(), count: z.number() }))
    .optional()
    .describe("The most frequent names"),
  spans: z.array(stepSchema).optional().describe("Steps in order of receipt"),
  span: toldStepSchema.extend({ attributes: z.string().nullable() }).optional(),
  text: z.string().optional().describe("A part of the `field`"),
  characters: z.number().optional().describe("Of the whole `field`"),
  usage: z.unknown(),
  scores: z.unknown(),
  next_cursor: z.string().nullable().optional(),
});

const maxRows = 400;
const maxNames = 30;

interface Reading {
  accountId: string;
  traceId: string;
  spanId?: string | undefined;
  field?: z.output<typeof query>["field"];
  kinds: readonly SpanKind[] | undefined;
  parts: readonly PartName[];
  cursor: string | undefined;
  maxChars: number;
}

/** A trace: first its outline, then single steps, then long texts in parts. */
export function getTraceRead(deps: Batching): ToolRead {
  const read = oneByOne(deps, "tool-get-trace", readTrace, fewWaiting);
  return toolRead({
    params: eitherIdParameter,
    query,
    answer,
    async handle({ params, query: { span_id, field, kind, include = [], cursor, max_chars }, response }) {
      const { accountId } = principalOf(response);
      if (field !== undefined && span_id === undefined) throw validationError({ field: "Needs span_id" });
      const traceId = await findTraceId(deps.pool, accountId, params);
      return read({
        accountId,
        traceId,
        spanId: span_id,
        field,
        kinds: kind,
        parts: include,
        cursor,
        maxChars: max_chars,
      });
    },
  });
}

async function readTrace(pool: pg.Pool, reading: Reading): Promise<object> {
  const { spanId, field, cursor } = reading;
  if (spanId === undefined) return cursor === undefined ? readOutline(pool, reading) : readRows(pool, reading, cursor);
  if (!isUuid(spanId)) throw new AppError("span_not_found");
  const address = { ...reading, spanId, characters: Math.floor(reading.maxChars / 2) };
  if (field !== undefined) return readField(pool, { ...address, name: field, cursor });
  const found = await readStep(pool, address);
  if (!found) throw new AppError("span_not_found");
  const span = { ...emptyStep(found), attributes: null as string | null };
  const slots = toldTexts(found, span);
  const { attributes } = found;
  if (attributes) slots.push({ excerpt: attributes, of: span, name: "attributes" });
  fitTexts(slots, roomBeside({ span }, reading.maxChars));
  return { span };
}

const cursorMessage = "Must be the next_cursor of an earlier answer";

/** The note, relative times and what escapes add. */
const margin = 600;

const roomBeside = (value: object, maxChars: number) => maxChars - JSON.stringify(value).length - margin;

type FieldToRead = Parameters<typeof readPart>[1];

async function readField(
  pool: pg.Pool,
  { cursor = "0", ...address }: Omit<FieldToRead, "from"> & { cursor: string | undefined },
): Promise<object> {
  if (!/^\d{1,9}$/.test(cursor)) throw validationError({ cursor: cursorMessage });
  const characters = Math.max(100, Math.floor((address.characters * 2 - margin) * 0.45));
  const part = await readPart(pool, { ...address, characters, from: Number(cursor) });
  if (!part) throw new AppError("span_not_found", { message: `The span has no ${address.name}` });
  const end = Number(cursor) + characters;
  return { ...part, next_cursor: end < part.characters ? String(end) : null };
}

async function readOutline(pool: pg.Pool, reading: Reading): Promise<object> {
  const { accountId, traceId, parts, maxChars } = reading;
  const summary = await summarizeTrace(pool, reading);
  if (!summary) throw new AppError("trace_not_found");
  const path = summary.errors > 0 ? await readFailingPath(pool, { ...reading, characters: 0 }) : [];
  const members = JSON.parse(`{${(await readParts(pool, { accountId, traceId }, parts)).slice(1)}}`) as object;
  const outline = {
    trace: presentTrace(summary),
    failing_path: pathWithin(
      path.map(({ step }) => step),
      Math.floor(maxChars / 4),
    ),
    steps: summary.steps
      .slice(0, maxNames)
      .filter((_, n, all) => JSON.stringify(all.slice(0, n + 1)).length < maxChars / 4),
    ...(JSON.stringify(members).length < maxChars / 4 ? members : { usage: "Too long: allow more max_chars" }),
  };
  return { ...outline, ...(await readRows(pool, reading, undefined, JSON.stringify(outline).length)) };
}

async function readRows(pool: pg.Pool, reading: Reading, cursor: string | undefined, taken = 0): Promise<object> {
  if (cursor !== undefined && !isUuid(cursor)) throw validationError({ cursor: cursorMessage });
  const steps = await listSteps(pool, { ...reading, after: cursor, limit: maxRows });
  let room = reading.maxChars - taken - margin;
  // Relative times take some characters more.
  const fitting = steps.findIndex((step) => {
    room -= JSON.stringify(step).length + relativeCharacters;
    return room < 0;
  });
  const spans = fitting < 0 ? steps : steps.slice(0, Math.max(cursor === undefined ? 0 : 1, fitting));
  const isLast = spans.length === steps.length && steps.length < maxRows;
  return { spans, next_cursor: isLast ? null : (spans.at(-1)?.id ?? cursor ?? firstCursor) };
}

const relativeCharacters = 40;
const firstCursor = "00000000-0000-0000-0000-000000000000";
