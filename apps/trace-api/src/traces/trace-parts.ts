import { asParameter } from "@waymark/service/fields";
import { readLabels, readTraceScores, readTraceUsage, type SpanKind, spanKinds, spanParts } from "@waymark/traces";
import type pg from "pg";
import { z } from "zod";

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

const names = Object.keys(traceParts);
const message = `Must be ${names.length > 1 ? "one or several of these, separated by commas" : "one of"}: ${names.join(", ")}`;

export const includeParameter = asParameter(
  { type: "array", items: { enum: names }, minItems: 1 },
  z
    .string(message)
    .transform((text) => [...new Set(text.split(","))])
    .refine((parts): parts is PartName[] => parts.every((part) => Object.hasOwn(traceParts, part)), message)
    .optional()
    .describe(
      `One part or several, separated by commas: ${Object.entries(traceParts)
        .map(([name, { adds }]) => `\`${name}\` adds ${adds}`)
        .join(", ")}`,
    ),
);

const kindsMessage = `Must be one or several of these, separated by commas: ${spanKinds.join(", ")}`;

export const kindParameter = asParameter(
  { type: "array", items: { enum: [...spanKinds] }, minItems: 1 },
  z
    .string(kindsMessage)
    .transform((text) => [...new Set(text.split(","))])
    .refine(
      (kinds): kinds is SpanKind[] => kinds.every((kind) => (spanKinds as readonly string[]).includes(kind)),
      kindsMessage,
    )
    .optional()
    .describe("Only spans of this kind, or of several separated by commas; those without a kind are `other`"),
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
