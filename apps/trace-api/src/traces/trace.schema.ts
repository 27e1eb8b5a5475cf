import { jsonObjectField, optionalChoice, textField, timestampField } from "@waymark/service/fields";
import { traceStatuses } from "@waymark/traces";
import { z } from "zod";

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
