import type { TraceStatus } from "./api-types.js";
import type { Capacity } from "./capacity.js";
import { WaymarkApiError } from "./errors.js";
import { newIdempotencyKey } from "./idempotency-key.js";
import type { Limiter } from "./limiter.js";
import type { Counts, Losses } from "./losses.js";
import { endBytes, type SpanRecord, toBatchText, toEndText } from "./span-record.js";
import type { Transport } from "./transport.js";

export interface DeliveryDeps {
  transport: Transport;
  limit: Limiter;
  capacity: Capacity;
  losses: Losses;
  sent: Counts;
  maxBatchSpans: number;
  maxBatchBytes: number;
}

export interface TraceEnd {
  status: TraceStatus;
  ended_at: string;
}

/** The requests of one trace. Each releases the capacity of its records, stored or lost; none rejects. */
export interface Delivery {
  readonly created: Promise<string | undefined>;
  readonly hasLosses: boolean;
  sendSpans(records: readonly SpanRecord[]): Promise<void>;
  sendSpanEnds(records: readonly SpanRecord[]): Promise<void>;
  sendTraceEnd(end: TraceEnd): Promise<void>;
}

export function createDelivery(deps: DeliveryDeps, trace: { text: string; bytes: number }): Delivery {
  const { capacity, sent } = deps;
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
    for (const record of records) settle(capacity, record, undefined);
  }

  capacity.take(1, trace.bytes);
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
    .finally(() => capacity.give(1, trace.bytes));

  async function sendBatch(path: string, records: readonly SpanRecord[]): Promise<void> {
    if (records.length === 0) return;
    if (fullError) return loseSpans(records, fullError);
    for (const record of records) record.state = "sending";
    try {
      const answer = (await request("POST", `${path}/spans/batch`, toBatchText(records))) as { span_ids: string[] };
      for (const [index, record] of records.entries()) settle(capacity, record, answer.span_ids[index]);
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
        // A span without an id is lost and already counted.
        if (spanId) await sendEnd(`/traces/${id}/spans/${spanId}`, toEndText(end), { spans: 1 });
        capacity.give(1, endBytes(end));
      });
      await Promise.all(ends);
    },
    async sendTraceEnd(end) {
      const id = await created;
      if (id !== undefined) await sendEnd(`/traces/${id}`, JSON.stringify(end), { traces: 1 });
      capacity.give(1, 0);
    },
  };
}

function settle(capacity: Capacity, record: SpanRecord, id: string | undefined): void {
  capacity.give(1, record.bytes);
  record.state = id === undefined ? "lost" : "stored";
  record.id = id;
  record.input = undefined;
  record.onSettled(id);
}

/** Cuts each batch at its turn: a span that ended meanwhile is larger and goes out with its end. */
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
 * Separates the wrong spans of a failed batch from those to send again. If the service does not name them, as with a body
 * that is too large or nested too deep, both halves are sent again.
 */
function sortOut(
  records: readonly SpanRecord[],
  error: unknown,
): { refused: readonly SpanRecord[]; again: readonly SpanRecord[][] } {
  const isOfBody = error instanceof WaymarkApiError && (error.status === 400 || error.status === 413);
  if (!isOfBody || records.length === 1 || saysTraceIsFull(error)) return { refused: records, again: [] };
  const wrong = wrongIndexes(error.fields);
  const refused = records.filter((_, index) => wrong.has(index));
  if (refused.length > 0) return { refused, again: [records.filter((_, index) => !wrong.has(index))] };
  const middle = Math.ceil(records.length / 2);
  return { refused: [], again: [records.slice(0, middle), records.slice(middle)] };
}

/** A full trace answers 413 with `limit`; a body that is too large has `limit_bytes`. */
function saysTraceIsFull(error: unknown): boolean {
  if (!(error instanceof WaymarkApiError) || error.status !== 413) return false;
  return typeof error.body === "object" && error.body !== null && "limit" in error.body;
}

/** The service names wrong fields such as `spans.3.started_at`. */
function wrongIndexes(fields: Readonly<Record<string, string>>): Set<number> {
  const indexes = Object.keys(fields).map((field) => /^spans\.(\d+)(\.|$)/.exec(field)?.[1]);
  return new Set(indexes.filter((index) => index !== undefined).map(Number));
}
