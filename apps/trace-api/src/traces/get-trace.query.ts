import type pg from "pg";
import type { Gather } from "../gather.js";
import { isoText } from "../iso-text.js";

/** Spans of one page at most. */
const maxPageSpans = 1_000;
/** Bytes of a page's opaque JSON and error texts at most, as they are stored (perhaps compressed), but for a lone span's. */
const maxPageBytes = 262_144;

/** Reads cost the database more than writes: several at once use several of its cores. */
const maxReadsInFlight = 2;
/** Pages of one statement at most, so that the answer of one waits for few others. */
const maxPagesPerStatement = 32;

const firstId = "00000000-0000-0000-0000-000000000000";

/** A timestamp as JSON. */
function iso(column: string): string {
  return `'"' || ${isoText(column)} || '"'`;
}

/** A value as JSON text, `null` where there is none. */
function orNull(json: string): string {
  return `COALESCE(${json}, 'null')`;
}

/** Of a resource or scope of a span: one probe of `trace_context_pkey`. */
const ofContext = (column: string, id: string) =>
  `(SELECT c.${column} FROM trace_context c WHERE c.account_id = s.account_id AND c.trace_id = s.trace_id AND c.id = s.${id})`;

/**
 * What a span is said to have beside the contract's fields: the members of the stored object, whose brace ends the span too.
 * Where scope and resource are stored apart, they come last in the member `otel`, which is the object's last.
 */
const attributesEnd = `CASE WHEN s.resource_id IS NULL
    THEN COALESCE(',' || substring(s.attributes::text FROM 2), ',"attributes":null}')
    ELSE concat(',', left(substring(s.attributes::text FROM 2), -2), ',"scope":', ${orNull(ofContext("value", "scope_id"))},
      ',"resource":', ${orNull(ofContext("value", "resource_id"))}, '}}') END`;

const spanJson = (withAttributes: boolean) => `concat(
  '{"id":"', s.id, '","name":', to_json(s.name), ',"status":"', s.status, '","started_at":', ${iso("s.started_at")},
  ',"ended_at":', ${orNull(iso("s.ended_at"))}, ',"input":', ${orNull("s.input")}, ',"output":', ${orNull("s.output")},
  ',"error":', ${orNull("to_json(s.error)")}, ',"parent_span_id":', ${orNull("to_json(s.parent_span_id)")}, ${withAttributes ? attributesEnd : "'}'"})`;

/** The columns that may be large. */
const weighed = (withAttributes: boolean) => ["input", "output", "error", ...(withAttributes ? ["attributes"] : [])];

function sizeOf(withAttributes: boolean): string {
  const sizes = weighed(withAttributes).map((column) => `COALESCE(pg_column_size(s.${column}), 0)`);
  const shared = ["resource_id", "scope_id"].map((id) => `COALESCE(${ofContext("bytes", id)}, 0)`);
  return [...sizes, ...(withAttributes ? shared : [])].join(" + ");
}

const contextColumns = ", account_id, trace_id, resource_id, scope_id";

const traceJson = `concat(
  '{"id":"', t.id, '","agent_id":', to_json(t.agent_id), ',"name":', to_json(t.name), ',"status":"', t.status,
  '","started_at":', ${iso("t.started_at")}, ',"ended_at":', ${orNull(iso("t.ended_at"))},
  ',"metadata":', ${orNull("t.metadata")}, ',"spans":[')`;

/**
 * Pages of traces as the JSON text that goes to the client: a page holds the spans after a given one, up to a number; the
 * first begins with the trace itself, the last ends it. Opaque JSON is copied as text and never parsed. Spans come in the
 * order they were received, since their ids rise. `last` is the last span's id where the page is full; `json` is null
 * where the spans weigh more than $5, unless it is one alone. Text is put together here because that takes half the time
 * of `json_build_object`. One probe of `trace_pkey` and two reads of one range of `span_pkey` for a page; both start with
 * the account, so that a foreign trace is not found. Sessions speak UTC.
 */
const readPagesSql = (withAttributes: boolean) => `
  SELECT q.place::int, page.last, CASE WHEN page.fits THEN concat(
    CASE WHEN q.after = '${firstId}' THEN ${traceJson} WHEN spans.json IS NOT NULL THEN ',' END,
    spans.json, CASE WHEN page.last IS NULL THEN ']}' END) END AS json
  FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[]) WITH ORDINALITY AS q (account_id, trace_id, after, most, place)
  JOIN trace t ON t.account_id = q.account_id AND t.id = q.trace_id,
  LATERAL (
    SELECT (array_agg(s.id))[q.most] AS last, q.most = 1 OR COALESCE(sum(
      ${sizeOf(withAttributes)}
    ), 0) <= $5 AS fits
    FROM (
      SELECT id, ${weighed(withAttributes).join(", ")}${withAttributes ? contextColumns : ""} FROM span
      WHERE account_id = q.account_id AND trace_id = q.trace_id AND id > q.after ORDER BY id LIMIT q.most
    ) s
  ) page,
  LATERAL (
    SELECT string_agg(${spanJson(withAttributes)}, ',' ORDER BY s.id) AS json FROM span s
    WHERE page.fits AND s.account_id = q.account_id AND s.trace_id = q.trace_id
      AND s.id > q.after AND s.id <= COALESCE(page.last, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  ) spans`;

interface PageToRead {
  accountId: string;
  traceId: string;
  /** The span after which the page begins. */
  after: string;
  /** Spans at most. */
  most: number;
  /** Whether spans are to have their attributes. */
  withAttributes: boolean;
}

interface Page {
  /** Null where the page does not fit. */
  json: string | null;
  /** Null where it is the trace's last page. */
  last: string | null;
}

type ReadPage = (page: PageToRead) => Promise<Page | undefined>;

/** A trace as JSON text, whole or in pieces; undefined where the account has none with that id. */
export type ReadTrace = (
  trace: Pick<PageToRead, "accountId" | "traceId" | "withAttributes">,
) => Promise<string | AsyncIterable<string> | undefined>;

/**
 * Reads traces with their spans. A large trace comes in pieces, each read when the one before has been taken: memory
 * stays flat, and a slow client holds no connection.
 */
export function createTraceReader({ pool, gather }: { pool: pg.Pool; gather: Gather }): ReadTrace {
  const readPage = gather<PageToRead, Page | undefined>({
    name: "read-trace",
    run: (pages) => readPages(pool, pages),
    maxInFlight: maxReadsInFlight,
    maxRows: maxPagesPerStatement,
    kindOf: ({ withAttributes }) => String(withAttributes),
  });
  return async (trace) => {
    const start = { ...trace, after: firstId, most: maxPageSpans };
    const first = await readPage(start);
    if (!first) return undefined;
    if (first.json !== null && first.last === null) return first.json;
    return readOn(first, start, readPage);
  };
}

const readPagesPlain = { name: "read-pages", text: readPagesSql(false) };
const readPagesWithAttributes = { name: "read-pages-with-attributes", text: readPagesSql(true) };

async function readPages(pool: pg.Pool, pages: readonly PageToRead[]): Promise<(Page | undefined)[]> {
  const withAttributes = pages[0]?.withAttributes ?? false;
  const { rows } = await pool.query<Page & { place: number }>({
    ...(withAttributes ? readPagesWithAttributes : readPagesPlain),
    values: [
      pages.map(({ accountId }) => accountId),
      pages.map(({ traceId }) => traceId),
      pages.map(({ after }) => after),
      pages.map(({ most }) => most),
      maxPageBytes,
    ],
  });
  const results: (Page | undefined)[] = pages.map(() => undefined);
  for (const row of rows) results[row.place - 1] = row;
  return results;
}

async function* readOn(first: Page, start: PageToRead, readPage: ReadPage) {
  let { after, most } = start;
  for (let page: Page | undefined = first; ; page = await readPage({ ...start, after, most })) {
    if (!page) {
      // Retention deleted the trace meanwhile: what was sent stays valid JSON.
      yield "]}";
      return;
    }
    if (page.json === null) {
      most = Math.ceil(most / 4);
      continue;
    }
    yield page.json;
    if (page.last === null) return;
    after = page.last;
  }
}
