import { wordsParameter } from "@waymark/service/fields";
import { named } from "@waymark/service/http";
import {
  includeParameter,
  labelsSchema,
  listPartsSchema,
  readLabels,
  readTraceScores,
  readTraceUsage,
  spanAnswers,
  spanKinds,
  spanParts,
  traceAnswers,
  traceScoreSchema,
  traceUsageSchema,
} from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";

const spanSchema = named(
  "Span",
  z.object({
    id: z.string(),
    ...spanAnswers,
    otel: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("With `include=attributes`, for OpenTelemetry spans: span id, kind, events, links, scope and resource"),
  }),
);

/** The answer of `GET /traces/:trace_id` (trace contract, "GET /api/v1/traces/:trace_id"). */
export const traceSchema = named(
  "Trace",
  z.object({
    ...traceAnswers.listed,
    metadata: traceAnswers.metadata,
    spans: z.array(spanSchema),
    usage: named("TraceUsage", traceUsageSchema).optional().describe("With `include=usage`"),
    scores: z.array(traceScoreSchema).optional().describe("With `include=scores`"),
    ...labelsSchema.partial().shape,
  }),
);

const listedSchema = z.object({
  ...traceAnswers.listed,
  duration_ms: z.number().nullable(),
  ...listPartsSchema.shape,
});

/** The answer of `GET /traces`. */
export const tracePageSchema = named(
  "TracePage",
  z.object({
    traces: z.array(named("ListedTrace", listedSchema)),
    next_cursor: z.string().nullable(),
  }),
);

/** A trace in the examples of both answers. */
export const exampleTrace = {
  id: "019c13f2-6c00-7cc3-98c4-dc0c0c07398f",
  agent_id: "billing-agent",
  name: "Refund order 1042",
  status: "success",
  started_at: "2026-01-31T12:00:00.000Z",
  ended_at: "2026-01-31T12:00:04.250Z",
} as const;

interface TracePart {
  adds: string;
  /** Reads a member of the answer, for parts that the reading of spans does not bring. */
  read?(pool: pg.Pool, accountId: string, traceId: string): Promise<unknown>;
  /** Reads several members. */
  readMembers?(pool: pg.Pool, accountId: string, traceId: string): Promise<object | undefined>;
}

/** The parts of a trace that `?include=` adds. */
const traceParts = {
  ...spanParts,
  usage: { adds: "tokens and cost of the model calls", read: readTraceUsage },
  scores: { adds: "the scores of the trace and its spans", read: readTraceScores },
  labels: { adds: "conversation, user, environment, release and tags", readMembers: readLabels },
} as const satisfies Record<string, TracePart>;

export type PartName = keyof typeof traceParts;

export const traceIncludeParameter = includeParameter<PartName>(traceParts);

export const kindParameter = wordsParameter(spanKinds).describe(
  "Only spans of this kind, or of several separated by commas; those without a kind are `other`",
);

/** Reads the parts that the reading of spans does not bring, as JSON members with a comma before each. */
export async function readParts(
  pool: pg.Pool,
  { accountId, traceId }: { accountId: string; traceId: string },
  parts: readonly PartName[],
): Promise<string> {
  let members = "";
  for (const name of parts) {
    const part: TracePart = traceParts[name];
    if (part.read) members += `,"${name}":${JSON.stringify(await part.read(pool, accountId, traceId))}`;
    const several = Object.entries((await part.readMembers?.(pool, accountId, traceId)) ?? {});
    for (const [member, value] of several) members += `,"${member}":${JSON.stringify(value)}`;
  }
  return members;
}
