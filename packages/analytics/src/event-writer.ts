import { inTransaction, isDatabaseUnavailable } from "@waymark/database";
import type pg from "pg";
import type { Partitions } from "./partitions.query.js";
import { recordEvents } from "./record-events.js";
import type { SiteEvent } from "./site-event.js";

/** Events that wait at most; more are refused rather than held in memory. */
const defaultMaxWaiting = 10_000;

/** Events of one transaction at most. */
const maxBatch = 1_000;

/** Too many events wait to be written; the client should come back later. */
export class WriterFullError extends Error {
  override name = "WriterFullError";
}

export interface EventWriterOptions {
  pool: pg.Pool;
  partitions: Partitions;
  maxWaiting?: number;
}

/** Writes events that come one by one. */
export interface EventWriter {
  /**
   * Resolves once the events are committed.
   * @throws WriterFullError when too many wait, or what the database threw
   */
  write(events: readonly SiteEvent[]): Promise<void>;
  /** Resolves when all that waits is written; what comes later is refused. */
  drain(): Promise<void>;
}

interface Waiting {
  readonly events: readonly SiteEvent[];
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Gathers events: what arrives while a transaction is under way goes out together in the next one. Nothing waits for a timer,
 * so that a lone event is written at once, and the more come the cheaper each is.
 */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { pool, partitions, maxWaiting = defaultMaxWaiting } = options;
  const waiting: Waiting[] = [];
  let running: Promise<void> | undefined;
  let isClosed = false;

  async function commit(events: readonly SiteEvent[]): Promise<void> {
    await partitions.ensure(new Set(events.map(({ at }) => at.slice(0, 10))));
    const client = await pool.connect();
    let broken: Error | undefined;
    const onError = (error: Error) => {
      broken = error;
    };
    client.on("error", onError);
    try {
      await inTransaction(client, () => recordEvents(client, events));
    } finally {
      client.off("error", onError);
      client.release(broken);
    }
  }

  /** One event that the database does not take must not cost its neighbours: a batch that fails is halved. */
  async function writeBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      await commit(batch.flatMap(({ events }) => events));
      for (const each of batch) each.resolve();
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) {
        for (const each of batch) each.reject(error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await writeBatch(batch.slice(0, middle));
      await writeBatch(batch.slice(middle));
    }
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) await writeBatch(waiting.splice(0, maxBatch));
    running = undefined;
  }

  return {
    write(events) {
      if (isClosed || waiting.length >= maxWaiting) {
        return Promise.reject(new WriterFullError("Too many events wait to be written"));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ events, resolve, reject });
        running ??= run();
      });
    },
    async drain() {
      isClosed = true;
      await running;
    },
  };
}
