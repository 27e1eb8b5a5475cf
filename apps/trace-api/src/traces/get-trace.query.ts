import type pg from "pg";

/** Spans of one page at most. */
const maxPageSpans = 1_000;
/** Bytes of a page's opaque JSON and error texts at most, as they are stored (perhaps compressed), but for a lone span's. */
const maxPageBytes = 262_144;

const firstId = "00000000-0000-0000-0000-000000000000";

/** A timestamp as JSON: UTC with `Z`, milliseconds, and microseconds where there are any. */
function iso(column: string): string {
  return `to_json(replace(to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '000Z', 'Z'))`;
}

/** A value as JSON text, `null` where there is none. */
function orNull(json: string): string {
  return `COALESCE(${json}, 'null')`;
}

const spanJson = `concat(
  '{"id":"', s.id, '","name":', to_json(s.name), ',"status":"', s.status, '","started_at":', ${iso("s.started_at")},
  ',"ended_at":', ${orNull(iso("s.ended_at"))}, ',"input":', ${orNull("s.input")}, ',"output":', ${orNull("s.output")},
  ',"error":', ${orNull("to_json(s.error)")}, ',"parent_span_id":', ${orNull("to_json(s.parent_span_id)")}, '}')`;

const traceJson = `concat(
  '{"id":"', t.id, '","agent_id":', to_json(t.agent_id), ',"name":', to_json(t.name), ',"status":"', t.status,
  '","started_at":', ${iso("t.started_at")}, ',"ended_at":', ${orNull(iso("t.ended_at"))},
  ',"metadata":', ${orNull("t.metadata")}, ',"spans":[')`;

/**
 * The trace as the JSON text that goes to the client, with its spans after $3, $4 at most: opaque JSON is copied as text
 * and never parsed. Spans come in the order they were received, since their ids rise. `last` is the last span's id where
 * the page is full; `spans` is null where they weigh more than $5, unless it is one alone. Text is put together here
 * because that takes half the time of `json_build_object`. One probe of `trace_pkey` and two reads of one range of
 * `span_pkey`, both of which start with the account, so that a foreign trace is not found. Sessions speak UTC.
 */
const readTraceSql = `
  SELECT CASE WHEN $3::uuid = '${firstId}' THEN ${traceJson} END AS head, page.last,
    CASE WHEN page.bytes <= $5 OR $4 = 1 THEN (
      SELECT string_agg(${spanJson}, ',' ORDER BY s.id) FROM span s
      WHERE s.account_id = t.account_id AND s.trace_id = t.id
        AND s.id > $3::uuid AND s.id <= COALESCE(page.last, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ) END AS spans, page.bytes <= $5 OR $4 = 1 AS fits
  FROM trace t, LATERAL (
    SELECT (array_agg(s.id ORDER BY s.id))[$4::int] AS last, COALESCE(sum(
      COALESCE(pg_column_size(s.input), 0) + COALESCE(pg_column_size(s.output), 0) + COALESCE(pg_column_size(s.error), 0)
    ), 0) AS bytes
    FROM (
      SELECT id, input, output, error FROM span
      WHERE account_id = t.account_id AND trace_id = t.id AND id > $3::uuid ORDER BY id LIMIT $4
    ) s
  ) page
  WHERE t.account_id = $1 AND t.id = $2`;

interface Page {
  head: string | null;
  /** Null where the page is empty or does not fit. */
  spans: string | null;
  last: string | null;
  fits: boolean;
}

/**
 * The account's trace with its spans as JSON text, or undefined where the account has none with that id. A large trace
 * comes in pieces, each read when the one before has been taken: memory stays flat, and a slow client holds no connection.
 */
export async function readTrace(
  pool: pg.Pool,
  accountId: string,
  traceId: string,
): Promise<string | AsyncIterable<string> | undefined> {
  const readPage = async (after: string, limit: number): Promise<Page | undefined> => {
    const { rows } = await pool.query<Page>({
      name: "read-trace",
      text: readTraceSql,
      values: [accountId, traceId, after, limit, maxPageBytes],
    });
    return rows[0];
  };
  const first = await readPage(firstId, maxPageSpans);
  if (!first) return undefined;
  if (first.fits && first.last === null) return `${first.head}${first.spans ?? ""}]}`;
  return readOn(first, readPage);
}

async function* readOn(first: Page, readPage: (after: string, limit: number) => Promise<Page | undefined>) {
  yield first.head ?? "";
  let after = firstId;
  let limit = maxPageSpans;
  // A trace that retention deletes meanwhile ends here: there is no next page, and what was sent stays valid JSON.
  for (let page: Page | undefined = first; page; page = await readPage(after, limit)) {
    if (!page.fits) {
      limit = Math.ceil(limit / 4);
      continue;
    }
    if (page.spans !== null) yield after === firstId ? page.spans : `,${page.spans}`;
    if (page.last === null) break;
    after = page.last;
  }
  yield "]}";
}
