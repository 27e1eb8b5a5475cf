import { isUuid } from "@waymark/database";
import { parseTimestamp } from "@waymark/service/fields";
import { type ListedTrace, maxChanges } from "@waymark/traces";
import { z } from "zod";

/** A row of the list: the API's, and what the page shows beside it. */
export interface TraceRow extends ListedTrace {
  /** The beginning of a failed trace's error. */
  error: string | null;
  /** Whether a mail about it went out. */
  isMailed: boolean;
}

/** The answer of `GET /traces`: its query is the API's. */
export interface TraceList {
  traces: TraceRow[];
  nextCursor: string | null;
}

/** The answer of `GET /traces/changes`. */
export interface TraceChangesAnswer {
  /** `since` of the next request. */
  at: string;
  /** Traces above `after`, newest first. */
  created: TraceRow[];
  /** Whether there are more of them. */
  hasMore: boolean;
  changed: TraceRow[];
  /** Ids without a trace. */
  gone: string[];
}

/** The answer of `GET /traces/agents`: ids of agents, for the filter. */
export interface AgentNames {
  agents: string[];
}

/** The answer of `GET /traces/otel/:otel_trace_id`. */
export interface FoundTrace {
  id: string;
}

const idSchema = z.string().refine(isUuid, "Must be the id of a trace").toLowerCase();

/** The query of `GET /traces/changes`. */
export const changesQuery = z.object({
  after: idSchema.optional(),
  ids: z
    .string()
    .transform((text) => text.split(",").filter(Boolean))
    .pipe(z.array(idSchema).max(maxChanges, `At most ${maxChanges} ids`))
    .default([]),
  since: z
    .string()
    .refine((text) => parseTimestamp(text).ok, "Must be the time of an earlier answer")
    .optional(),
});
