import { isoText } from "./iso-text.js";

/** Which trace is to be read. */
export interface TraceToRead {
  accountId: string;
  traceId: string;
  /** Whether spans are to have their attributes. */
  withAttributes: boolean;
}

/** Below the id of every span. */
export const firstId = "00000000-0000-0000-0000-000000000000";

/** A timestamp as JSON. */
function iso(column: string): string {
  return `'"' || ${isoText(column)} || '"'`;
}

/** A value as JSON text, `null` where there is none. */
function orNull(json: string): string {
  return `COALESCE(${json}, 'null')`;
}

/** Of a resource or scope of a span: one probe of `trace_context_pkey`. */
export const ofContext = (column: string, id: string) =>
  `(SELECT c.${column} FROM trace_context c WHERE c.account_id = s.account_id AND c.trace_id = s.trace_id AND c.id = s.${id})`;

/**
 * What a span is said to have beside the contract's fields: the members of the stored object, whose brace ends the span too.
 * Where scope and resource are stored apart, they come last in the member `otel`, which is the object's last.
 */
const attributesEnd = `CASE WHEN s.resource_id IS NULL
    THEN COALESCE(',' || substring(s.attributes::text FROM 2), ',"attributes":null}')
    ELSE concat(',', left(substring(s.attributes::text FROM 2), -2), ',"scope":', ${orNull(ofContext("value", "scope_id"))},
      ',"resource":', ${orNull(ofContext("value", "resource_id"))}, '}}') END`;

/** A span `s` as JSON text. */
export const spanJson = (withAttributes: boolean) => `concat(
  '{"id":"', s.id, '","name":', to_json(s.name), ',"status":"', s.status, '","started_at":', ${iso("s.started_at")},
  ',"ended_at":', ${orNull(iso("s.ended_at"))}, ',"input":', ${orNull("s.input")}, ',"output":', ${orNull("s.output")},
  ',"error":', ${orNull("to_json(s.error)")}, ',"parent_span_id":', ${orNull("to_json(s.parent_span_id)")}, ${withAttributes ? attributesEnd : "'}'"})`;

/** What a trace `t` begins with; the list of its spans is open. */
export const traceJson = `concat(
  '{"id":"', t.id, '","agent_id":', to_json(t.agent_id), ',"name":', to_json(t.name), ',"status":"', t.status,
  '","started_at":', ${iso("t.started_at")}, ',"ended_at":', ${orNull(iso("t.ended_at"))},
  ',"metadata":', ${orNull("t.metadata")}, ',"spans":[')`;
