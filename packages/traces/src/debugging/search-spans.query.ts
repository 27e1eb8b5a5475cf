import { smallestUuid } from "@waymark/database";
import { inSteps } from "@waymark/service/http";
import type pg from "pg";
import { createMatcher, type Search } from "../contents/search-terms.js";
import { weightSql } from "../get-trace.query.js";
import type { SpanKind } from "../statuses.js";
import { type Step, type StepRow, stepColumns, stepOf } from "./steps.js";

interface SpanFilter {
  search?: Search | undefined;
  /** A part of the name, in either case. */
  name?: string | undefined;
  kinds?: readonly SpanKind[] | undefined;
  status?: Step["status"] | undefined;
  /** A part of a model's name, in either case. */
  model?: string | undefined;
}

interface SpansToFind extends SpanFilter {
  accountId: string;
  traceId: string;
  after?: string | undefined;
  limit: number;
  /** By `performance.now()`. */
  endMs: number;
}

export interface FoundSpan extends Step {
  trace_id: string;
  /** Where the first word stands, and the text around it. */
  found_in: string | null;
  excerpt: string | null;
}

const searchedNames = ["name", "error", "input", "output"] as const;

/** Compressed bytes count eightfold, so the texts of a statement take some 23 MB at most, or those of one span. */
const maxWeight = 2_097_152;
const maxRows = 500;

/**
 * Spans after $3 that pass the filters, with their texts as far as their weight allows: what stays compressed is not read. A range
 * of `span_pkey`, and for each of its spans a probe of `model_call_pkey` if a model is asked for.
 */
const readSql = (names: readonly string[]) => `
  WITH near AS MATERIALIZED (
    SELECT w.*, sum(weight) OVER (ORDER BY id) AS total, row_number() OVER (ORDER BY id) AS place, count(*) OVER ()::int AS passing FROM (
      SELECT s.*, ${["0", ...names.map((name) => weightSql(`s.${name}`))].join(" + ")} AS weight FROM span s
      WHERE s.account_id = $1 AND s.trace_id = $2 AND s.id > $3 AND ($4::text IS NULL OR s.status = $4)
        AND ($5::text[] IS NULL OR COALESCE(s.kind, 'other') = ANY ($5)) AND ($6::text IS NULL OR strpos(lower(s.name), lower($6)) > 0)
        AND ($7::text IS NULL OR EXISTS (SELECT FROM model_call m WHERE m.account_id = $1 AND m.trace_id = $2 AND m.span_id = s.id
          AND strpos(lower(m.model), lower($7)) > 0))
      ORDER BY s.id LIMIT $8
    ) w
  )
  SELECT ${stepColumns}, s.passing${names.map((name) => `, s.${name}::text AS ${name}_text`).join("")}
  FROM near s WHERE s.total <= ${maxWeight} OR s.place = 1 ORDER BY s.id`;

const statements = {
  filter: { name: "filter-spans", text: readSql([]) },
  search: { name: "search-spans", text: readSql(searchedNames) },
} as const;

type TextRow = StepRow & { passing: number } & { [Name in `${(typeof searchedNames)[number]}_text`]?: string | null };

/**
 * Spans of a trace, in order of their ids, with all words of the search in their names, inputs, outputs or errors. `next` is
 * the span after which another call goes on, if the time or the limit ended this one.
 */
export async function searchSpans(
  pool: pg.Pool,
  { accountId, traceId, after = smallestUuid, limit, endMs, ...filter }: SpansToFind,
): Promise<{ spans: FoundSpan[]; next: string | undefined }> {
  const { search, name, kinds, status, model } = filter;
  const spans: FoundSpan[] = [];
  const most = search ? maxRows : limit;
  for (let from = after; ; ) {
    const values = [accountId, traceId, from, status, kinds, name, model, most];
    const { rows } = await pool.query<TextRow>({ ...statements[search ? "search" : "filter"], values });
    for (const row of rows) {
      from = row.id;
      const place = search ? await findPlace(search, row) : { found_in: null, excerpt: null };
      if (place) spans.push({ trace_id: traceId, ...stepOf(row).step, ...place });
      if (spans.length === limit || performance.now() > endMs) return { spans, next: from };
    }
    const [first] = rows;
    if (!first || (first.passing < most && rows.length === first.passing)) return { spans, next: undefined };
  }
}

/** Units before and after a word. */
const around = 120;
const unitsPerStep = 65_536;

async function findPlace(search: Search, row: TextRow): Promise<Pick<FoundSpan, "found_in" | "excerpt"> | undefined> {
  const matcher = createMatcher(search);
  matcher.begin("");
  for (const name of searchedNames) {
    const isJson = name === "input" || name === "output";
    await inSteps(matcher.look(row[`${name}_text`] ?? "", isJson));
  }
  return matcher.hasAll() ? inSteps(excerptOf(search.terms, row)) : undefined;
}

/** The text around the first word that stands there as it was searched for, whatever its case. */
function* excerptOf(terms: readonly string[], row: TextRow): Generator<void, Pick<FoundSpan, "found_in" | "excerpt">> {
  for (const name of ["error", "input", "output", "name"] as const) {
    const text = row[`${name}_text`] ?? "";
    for (let from = 0; from < text.length; from += unitsPerStep) {
      const piece = text.slice(from, from + unitsPerStep + around).toLowerCase();
      for (const term of terms) {
        const at = piece.indexOf(term);
        if (at < 0) continue;
        const start = Math.max(0, from + at - around);
        return { found_in: name, excerpt: text.slice(start, from + at + term.length + around) };
      }
      yield;
    }
  }
  return { found_in: null, excerpt: null };
}
