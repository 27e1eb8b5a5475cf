import { jsonObjectField, optionalChoice, textField, timestampField } from "@waymark/fields";
import { z } from "zod";

/** The states of a trace (trace contract, "States and transitions"). */
export const traceStatuses = ["running", "success", "error", "timeout"] as const;

/** A state of a trace. */
export type TraceStatus = (typeof traceStatuses)[number];

/** The body of `POST /traces` (trace contract, "Trace"). */
export const newTraceSchema = z.object({
  agent_id: textField({ min: 1, max: 255 }).describe("Your name for the agent; it is created on first use"),
  name: textField({ min: 1, max: 1_000 }).describe("A readable name of the task or query"),
  status: z.enum(traceStatuses),
  started_at: timestampField(),
  ended_at: timestampField().nullish(),
  metadata: jsonObjectField().optional(),
});

/** The body of `PATCH /traces/:trace_id`: only what is given changes. */
export const finalTraceSchema = z.object({
  status: optionalChoice(traceStatuses),
  ended_at: timestampField().nullish(),
});

export type NewTrace = z.output<typeof newTraceSchema>;
export type FinalTrace = z.output<typeof finalTraceSchema>;
