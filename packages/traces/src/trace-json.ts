import { isoText } from "./iso-text.js";

export interface TraceToRead {
  accountId: string;
  traceId: string;
  /** Whether spans include `attributes` and `otel`. */
  withAttributes: boolean;
}

function isoJson(column: string): string {
  return `'"' || ${isoText(column)} || '"'`;
}

function orNull(json: string): string {
  return `COALESCE(${json}, 'null')`;
}

/** A column of a span's resource or scope: one probe of `trace_context_pkey`. */
export const ofContext = (column: string, id: string) =>
  `(SELECT c.${column} FROM trace_context c WHERE c.account_id = s.account_id AND c.trace_id = s.trace_id AND c.id = s.${id})`;

/** The stored object `{"attributes":…,"otel":{…}}` without its opening brace; scope and resource become members of `otel`. */
export const attributesEnd = `CASE WHEN s.resource_id IS NULL
    THEN COALESCE(',' || substring(s.attributes::text FROM 2), ',"attributes":null}')
    ELSE concat(',', left(substring(s.attributes::text FROM 2), -2), ',"scope":', ${orNull(ofContext("value", "scope_id"))},
      ',"resource":', ${orNull(ofContext("value", "resource_id"))}, '}}') END`;

/** The attributes of a span with its resource and scope as one JSON text; null without any. */
export const attributesText = `CASE WHEN s.attributes IS NOT NULL OR s.resource_id IS NOT NULL THEN
  '{' || substring(${attributesEnd} FROM 2) END`;

export const spanJson = (withAttributes: boolean) => `concat(
  '{"id":"', s.id, '","name":', to_json(s.name), ',"status":"', s.status, '","started_at":', ${isoJson("s.started_at")},
  ',"ended_at":', ${orNull(isoJson("s.ended_at"))}, ',"input":', ${orNull("s.input")}, ',"output":', ${orNull("s.output")},
  ',"error":', ${orNull("to_json(s.error)")}, ',"parent_span_id":', ${orNull("to_json(s.parent_span_id)")}, ${withAttributes ? attributesEnd : "'}'"})`;

/** A trace `t` as JSON text, up to its first span. */
export const traceJson = `concat(
  '{"id":"', t.id, '","agent_id":', to_json(t.agent_id), ',"name":', to_json(t.name), ',"status":"', t.status,
  '","started_at":', ${isoJson("t.started_at")}, ',"ended_at":', ${orNull(isoJson("t.ended_at"))},
  ',"metadata":', ${orNull("t.metadata")}, ',"spans":[')`;
