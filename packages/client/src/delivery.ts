import type { TraceStatus } from "./api-types.js";
import type { Budget } from "./budget.js";
import { WaymarkApiError } from "./errors.js";
import { newIdempotencyKey } from "./idempotency-key.js";
import type { Limiter } from "./limiter.js";
import type { Counts, Losses } from "./losses.js";
import { endBytes, type SpanRecord, toBatchText, toEndText } from "./span-record.js";
import type { Transport } from "./transport.js";

/** What the traces of a client share to send what they recorded. */
export interface DeliveryDeps {
  transport: Transport;
  limit: Limiter;
  budget: Budget;
  losses: Losses;
  /** What is sent so far. */
  sent: Counts;
  maxBatchSpans: number;
  maxBatchBytes: number;
}

/** How a trace ended. */
export interface TraceEnd {
  status: TraceStatus;
  ended_at: string;
}

/** The requests of one trace. Each takes what it is given out of the budget, whether it is stored or lost, and none rejects. */
export interface Delivery {
  /** The service's id; undefined when the trace could not be created. */
  readonly created: Promise<string | undefined>;
  /** Whether something of the trace is lost. */
  readonly hasLosses: boolean;
  /** Spans in the order in which they were opened. */
  sendSpans(records: readonly SpanRecord[]): Promise<void>;
  sendSpanEnds(records: readonly SpanRecord[]): Promise<void>;
  sendTraceEnd(end: TraceEnd): Promise<void>;
}

/** Creates the trace at once, and sends what is then recorded of it. */
export function createDelivery(deps: DeliveryDeps, trace: { text: string; bytes: number }): Delivery {
  const { budget, sent } = deps;
  let hasLosses = false;
  let creationFailure: unknown;
  let fullError: unknown;

  function request(method: "POST" | "PATCH", path: string, body: string): Promise<unknown> {
    const call = { method, path, body };
    return deps.limit(() =>
      deps.transport(method === "POST" ? { ...call, idempotencyKey: newIdempotencyKey() } : call),
    );
  }
  function lose(lost: Partial<Counts>, cause: unknown): void {
    hasLosses = true;
    deps.losses.add(lost, cause);
  }
  function loseSpans(records: readonly SpanRecord[], cause: unknown): void {
    if (records.length > 0) lose({ spans: records.length }, cause);
    for (const record of records) settle(budget, record, undefined);
  }

  budget.take(1, trace.bytes);
  const created = request("POST", "/traces", trace.text)
    .then((answer) => {
      sent.traces++;
      return (answer as { trace_id: string }).trace_id;
    })
    .catch((error: unknown) => {
      creationFailure = error;
      lose({ traces: 1 }, error);
      return undefined;
    })
    .finally(() => budget.give(1, trace.bytes));

  async function sendBatch(path: string, records: readonly SpanRecord[]): Promise<void> {
    if (records.length === 0) return;
    if (fullError) return loseSpans(records, fullError);
    for (const record of records) record.state = "sending";
    try {
      const answer = (await request("POST", `${path}/spans/batch`, toBatchText(records))) as { span_ids: string[] };
      for (const [place, record] of records.entries()) settle(budget, record, answer.span_ids[place]);
      sent.spans += records.length;
    } catch (error) {
      if (saysTraceIsFull(error)) fullError = error;
      const { refused, again } = sortOut(records, error);
      loseSpans(refused, error);
      for (const part of again) await sendBatch(path, part);
    }
  }
  async function sendEnd(path: string, body: string, lost: Partial<Counts>): Promise<void> {
    await request("PATCH", path, body).catch((error: unknown) => lose(lost, error));
  }

  return {
    created,
    get hasLosses() {
      return hasLosses;
    },
    async sendSpans(records) {
      const id = await created;
      if (id === undefined) return loseSpans(records, creationFailure);
      for (const batch of cutBatches(records, deps)) await sendBatch(`/traces/${id}`, batch);
    },
    async sendSpanEnds(records) {
      const id = await created;
      const ends = records.map(async ({ id: spanId, end }) => {
        if (!end) return;
        // Without an id the span is lost, and counted as such already.
        if (spanId) await sendEnd(`/traces/${id}/spans/${spanId}`, toEndText(end), { spans: 1 });
        budget.give(1, endBytes(end));
      });
      await Promise.all(ends);
    },
    async sendTraceEnd(end) {
      const id = await created;
      if (id !== undefined) await sendEnd(`/traces/${id}`, JSON.stringify(end), { traces: 1 });
      budget.give(1, 0);
    },
  };
}

function settle(budget: Budget, record: SpanRecord, id: string | undefined): void {
  budget.give(1, record.bytes);
  record.state = id === undefined ? "lost" : "stored";
  record.id = id;
  record.input = undefined;
  record.onSettled(id);
}

/** Cuts spans into batches, each when its turn has come: a span that ended until then is larger, and goes out with its end. */
function* cutBatches(records: readonly SpanRecord[], limits: DeliveryDeps): Generator<SpanRecord[]> {
  let batch: SpanRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (batch.length > 0 && (batch.length >= limits.maxBatchSpans || bytes + record.bytes > limits.maxBatchBytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(record);
    bytes += record.bytes;
  }
  if (batch.length > 0) yield batch;
}

/**
 * What becomes of a batch that failed: wrong spans do not take the others with them. Where the service does not say which ones
 * are wrong, such as with a body that is too large or nested too deep, the halves show it.
 */
function sortOut(
  records: readonly SpanRecord[],
  error: unknown,
): { refused: readonly SpanRecord[]; again: readonly SpanRecord[][] } {
  const isOfBody = error instanceof WaymarkApiError && (error.status === 400 || error.status === 413);
  if (!isOfBody || records.length === 1 || saysTraceIsFull(error)) return { refused: records, again: [] };
  const wrong = wrongPlaces(error.fields);
  const refused = records.filter((_, place) => wrong.has(place));
  if (refused.length > 0) return { refused, again: [records.filter((_, place) => !wrong.has(place))] };
  const middle = Math.ceil(records.length / 2);
  return { refused: [], again: [records.slice(0, middle), records.slice(middle)] };
}

/** A trace takes so many spans and no more; a body that is too large has `limit_bytes` instead. */
function saysTraceIsFull(error: unknown): boolean {
  if (!(error instanceof WaymarkApiError) || error.status !== 413) return false;
  return typeof error.body === "object" && error.body !== null && "limit" in error.body;
}

/** The places of spans in their batch that the service finds wrong: its fields are named such as `spans.3.started_at`. */
function wrongPlaces(fields: Readonly<Record<string, string>>): Set<number> {
  const places = Object.keys(fields).map((field) => /^spans\.(\d+)(\.|$)/.exec(field)?.[1]);
  return new Set(places.filter((place) => place !== undefined).map(Number));
}
