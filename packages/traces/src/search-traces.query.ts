import { formatUuid } from "@waymark/database";
import { inSteps } from "@waymark/service/http";
import type pg from "pg";
import { type Batching, fewWaiting, oneByOne } from "./batching.js";
import { contentsCondition, findPlaces } from "./blocks/find-blocks.query.js";
import { bitsOfTerms } from "./contents/grams.js";
import { readContents } from "./contents/read-contents.query.js";
import { createMatcher, type Search } from "./contents/search-terms.js";
import {
  type CursorWithin,
  filtersOf,
  type ListedTrace,
  listTraces,
  maxExamineMs,
  readPage,
  type TraceCursor,
  type TracePage,
  type TracesToFind,
} from "./list-traces.query.js";
import { settleCalls } from "./model-calls/settle-calls.query.js";

/** The newest traces are read at once: a frequent word needs no blocks. */
const maxNewest = 64;
const maxListed = 500;

interface SearchOptions {
  maxMs?: number;
  /** Traces to read before the blocks. */
  newest?: number;
}

export type TracePageReader = (query: TracesToFind) => Promise<TracePage>;

/** Makes a reader of pages. A list may take half a second, a search as well: these leave connections to everybody else. */
export function createTracePageReader(deps: Batching): TracePageReader {
  const list = oneByOne(deps, "list-traces", listTraces, { ...fewWaiting, maxInFlight: 3, maxInFlightPerOwner: 2 });
  const search = oneByOne(deps, "search-traces", searchTraces, { maxWaitingRows: 80 });
  return (query) => (query.search ? search(query) : list(query));
}

/**
 * A page of traces that have all terms of the search in their names or in the names, inputs, outputs and errors of their spans.
 * It first looks into the newest, then into those of blocks that may have them. When the time is over, the page is short and its
 * cursor goes on there, also within a trace.
 */
export async function searchTraces(
  pool: pg.Pool,
  query: TracesToFind,
  options: SearchOptions = {},
): Promise<TracePage> {
  const { maxMs = maxExamineMs, newest = maxNewest } = options;
  const { search = { terms: [], hash: 0 }, accountId, from = "-infinity" } = query;
  const endMs = performance.now() + maxMs;
  const leftMs = () => endMs - performance.now();
  if (query.minCost !== undefined) await settleCalls(pool, accountId);
  const traces: ListedTrace[] = [];
  const read = (after: TraceCursor, limit: number, places?: Awaited<ReturnType<typeof findPlaces>>) =>
    readPage(pool, { ...query, after, limit }, { maxMs: Math.max(1, leftMs()), places });
  let { page } = await read(query.after, newest);
  let within = query.after.within;
  let places: Awaited<ReturnType<typeof findPlaces>>;
  for (let isFirst = true; ; isFirst = false) {
    for await (const { trace, isMatch, stop } of look(pool, { accountId, search, traces: page.traces, within })) {
      if (isMatch) traces.push(trace);
      if (stop && leftMs() < 0) return { traces, next: { ...cursorAt(trace), within: stop } };
      if (!stop && (traces.length === query.limit || leftMs() < 0)) return { traces, next: positionOf(trace) };
    }
    within = undefined;
    const { next } = page;
    if (next === null || leftMs() < 0) return { traces, next };
    if (isFirst) {
      const bits = bitsOfTerms(search.terms);
      const conditions = filtersOf(query).flatMap(({ block }) => block ?? []);
      if (bits.length > 0) conditions.push(contentsCondition(bits));
      if (conditions.length > 0) places = await findPlaces(pool, { accountId, from, to: next.startedAt, conditions });
    }
    ({ page } = await read(next, maxListed, places));
  }
}

interface TracesToLook {
  accountId: string;
  search: Search;
  traces: readonly ListedTrace[];
  /** Where an earlier request stopped, if that was in the first trace. */
  within?: CursorWithin | undefined;
}

interface Looked {
  trace: ListedTrace;
  isMatch: boolean;
  /** The trace has further spans. */
  stop?: CursorWithin;
}

async function* look(pool: pg.Pool, { accountId, search, traces, within }: TracesToLook): AsyncGenerator<Looked> {
  const matcher = createMatcher(search);
  const resumed = within?.hash === search.hash && within.traceId === traces[0]?.id ? within : undefined;
  let at = -1;
  const contents = readContents(pool, {
    accountId,
    traceIds: traces.map(({ id }) => id),
    after: resumed?.spanId,
    isWanted: (index) => index !== at || !matcher.hasAll(),
  });
  for await (const { index, texts, jsons, next } of contents) {
    const trace = traces[index];
    if (!trace) return;
    if (index !== at) matcher.begin(trace.name, index === 0 ? resumed?.found : 0);
    at = index;
    await inSteps(matcher.look(texts, false));
    await inSteps(matcher.look(jsons, true));
    const isMatch = matcher.hasAll();
    if (isMatch || next === undefined) yield { trace, isMatch };
    else yield { trace, isMatch, stop: { traceId: trace.id, spanId: next, found: matcher.found(), hash: search.hash } };
  }
}

function positionOf({ started_at: startedAt, id }: ListedTrace): TraceCursor {
  return { startedAt, id };
}

function cursorAt({ started_at: startedAt, id }: ListedTrace): TraceCursor {
  const number = BigInt(`0x${id.replaceAll("-", "")}`) + 1n;
  return { startedAt, id: formatUuid(Buffer.from(number.toString(16).padStart(32, "0"), "hex")) };
}
