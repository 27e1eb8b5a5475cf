import type { TraceStatus } from "./api-types.js";
import type { Capacity, Limiter } from "./capacity.js";
import { WaymarkApiError } from "./errors.js";
import type { Counts, Losses } from "./losses.js";
import { endBytes, type SpanRecord, toBatchText, toEndText } from "./span-record.js";
import { newIdempotencyKey, type Transport } from "./transport.js";

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
export class Delivery {
  readonly created: Promise<string | undefined>;
  hasLosses = false;
  private creationFailure: unknown;
  private fullError: unknown;

  constructor(
    private readonly deps: DeliveryDeps,
    trace: { text: string; bytes: number },
  ) {
    this.created = this.create(trace);
  }

  async sendSpans(records: readonly SpanRecord[]): Promise<void> {
    const id = await this.created;
    if (id === undefined) return this.loseSpans(records, this.creationFailure);
    for (const batch of cutBatches(records, this.deps)) await this.sendBatch(`/traces/${id}`, batch);
  }

  async sendSpanEnds(records: readonly SpanRecord[]): Promise<void> {
    const id = await this.created;
    const ends = records.map(async ({ id: spanId, end }) => {
      if (!end) return;
      // A span without an id is lost and already counted.
      if (spanId) await this.sendEnd(`/traces/${id}/spans/${spanId}`, toEndText(end), { spans: 1 });
      this.deps.capacity.give(1, endBytes(end));
    });
    await Promise.all(ends);
  }

  async sendTraceEnd(end: TraceEnd): Promise<void> {
    const id = await this.created;
    if (id !== undefined) await this.sendEnd(`/traces/${id}`, JSON.stringify(end), { traces: 1 });
    this.deps.capacity.give(1, 0);
  }

  private async create({ text, bytes }: { text: string; bytes: number }): Promise<string | undefined> {
    const { capacity, sent } = this.deps;
    capacity.take(1, bytes);
    try {
      const answer = (await this.request("POST", "/traces", text)) as { trace_id: string };
      sent.traces++;
      return answer.trace_id;
    } catch (error) {
      this.creationFailure = error;
      this.lose({ traces: 1 }, error);
      return undefined;
    } finally {
      capacity.give(1, bytes);
    }
  }

  private async sendBatch(path: string, records: readonly SpanRecord[]): Promise<void> {
    if (records.length === 0) return;
    if (this.fullError) return this.loseSpans(records, this.fullError);
    const { capacity, sent } = this.deps;
    for (const record of records) record.state = "sending";
    try {
      const answer = (await this.request("POST", `${path}/spans/batch`, toBatchText(records))) as {
        span_ids: string[];
      };
      for (const [index, record] of records.entries()) settle(capacity, record, answer.span_ids[index]);
      sent.spans += records.length;
    } catch (error) {
      if (saysTraceIsFull(error)) this.fullError = error;
      const { refused, again } = sortOut(records, error);
      this.loseSpans(refused, error);
      for (const part of again) await this.sendBatch(path, part);
    }
  }

  private async sendEnd(path: string, body: string, lost: Partial<Counts>): Promise<void> {
    await this.request("PATCH", path, body).catch((error: unknown) => this.lose(lost, error));
  }

  private request(method: "POST" | "PATCH", path: string, body: string): Promise<unknown> {
    const { limit, transport } = this.deps;
    const call = { method, path, body };
    return limit(() => transport(method === "POST" ? { ...call, idempotencyKey: newIdempotencyKey() } : call));
  }

  private lose(lost: Partial<Counts>, cause: unknown): void {
    this.hasLosses = true;
    this.deps.losses.add(lost, cause);
  }

  private loseSpans(records: readonly SpanRecord[], cause: unknown): void {
    if (records.length > 0) this.lose({ spans: records.length }, cause);
    for (const record of records) settle(this.deps.capacity, record, undefined);
  }
}

function settle(capacity: Capacity, record: SpanRecord, id: string | undefined): void {
  capacity.give(1, record.bytes);
  record.state = id === undefined ? "lost" : "stored";
  record.id = id;
  record.input = undefined;
  record.attributes = undefined;
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
