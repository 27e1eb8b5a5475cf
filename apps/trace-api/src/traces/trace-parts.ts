import { wordsParameter } from "@waymark/service/fields";
import { includeParameter, readLabels, readTraceScores, readTraceUsage, spanKinds, spanParts } from "@waymark/traces";
import type pg from "pg";

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
