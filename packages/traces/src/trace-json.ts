import { type TraceFieldName, traceFields, traceMemberSql } from "./trace-fields.js";

export interface TraceToRead {
  accountId: string;
  traceId: string;
  /** Whether spans include `attributes` and `otel`. */
  withAttributes: boolean;
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

/** A trace `t` as JSON text, up to its first span. */
export const traceJson = `concat('{"id":"', t.id, '"', ${(Object.keys(traceFields) as TraceFieldName[])
  .map((name) => `',"${name}":', ${traceMemberSql(name)}`)
  .join(", ")}, ',"spans":[')`;
