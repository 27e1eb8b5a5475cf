import type { FoundTrace } from "../../src/traces/one-trace.route.js";
import { api } from "./api.js";

const uuid = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}";
const ownId = new RegExp(`^(?:https?://\\S+/traces/)?(${uuid})(?:[?#]\\S*)?$`);
/** Alone, or in the header `traceparent` (W3C Trace Context). */
const otelId = /^(?:00-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?$/;

interface PastedId {
  id: string;
  otelTraceId?: string;
}

/** The id in a pasted text, such as an address of a page. OpenTelemetry's digits may also be ours without their dashes. */
export function pastedId(text: string): PastedId | undefined {
  const pasted = text.trim().toLowerCase();
  const id = ownId.exec(pasted)?.[1];
  if (id !== undefined) return { id };
  const otelTraceId = otelId.exec(pasted)?.[1];
  if (otelTraceId === undefined) return undefined;
  return { id: otelTraceId.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"), otelTraceId };
}

/** The trace of a pasted id, also of OpenTelemetry's. */
export async function findId({ id, otelTraceId }: PastedId): Promise<string> {
  if (otelTraceId === undefined) return id;
  const found = await api.get<FoundTrace>(`/traces/otel/${otelTraceId}`).catch(() => undefined);
  return found?.id ?? id;
}
