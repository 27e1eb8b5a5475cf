import { isUuid } from "@waymark/database";
import { AppError } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";
import { findOtelTrace } from "@waymark/traces";
import type pg from "pg";

export const traceIdParameter = { trace_id: "The id of the trace" } as const;

/** The trace's id in lower case. @throws AppError 404 where it is no UUID: no trace has such an id */
export function traceIdOf(params: Readonly<Record<string, string>>): string {
  const traceId = (params["trace_id"] ?? "").toLowerCase();
  if (!isUuid(traceId)) throw new AppError("trace_not_found");
  return traceId;
}

/** The path parameter of readings that also take the 32 hexadecimal digits of OpenTelemetry. */
export const eitherIdParameter = {
  trace_id: "The id of the trace, or the 32 hexadecimal digits that OpenTelemetry has for it",
} as const;

/** The trace's own id in lower case. @throws AppError 404 where the account has no trace of such an id */
export async function findTraceId(
  pool: pg.Pool,
  accountId: string,
  params: Readonly<Record<string, string>>,
): Promise<string> {
  const given = params["trace_id"] ?? "";
  if (!/^[0-9a-f]{32}$/i.test(given)) return traceIdOf(params);
  const found = await findOtelTrace(pool, accountId, given);
  if (found === undefined) throw new AppError("trace_not_found");
  return found;
}

export const sessionIdParameter = { session_id: "The id of the conversation, percent-encoded" } as const;

/** @throws AppError 404 for a text that no conversation can have as its id */
export function sessionIdOf(params: Readonly<Record<string, string>>): string {
  const sessionId = params["session_id"] ?? "";
  if (textProblem(sessionId) !== undefined) throw new AppError("session_not_found");
  return sessionId;
}

export const agentIdParameter = { agent_id: "The id of the agent, percent-encoded" } as const;

/** @throws AppError 404 for a text that no agent can have as its id */
export function agentIdOf(params: Readonly<Record<string, string>>): string {
  const agentId = params["agent_id"] ?? "";
  if (textProblem(agentId) !== undefined) throw new AppError("agent_not_found");
  return agentId;
}
