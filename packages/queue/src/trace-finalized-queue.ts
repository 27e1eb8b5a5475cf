import { jobOptions, type ProducerQueue } from "./backend.js";
import { chooseBackend, type QueueOptions } from "./choose-backend.js";
import { isOverWithin, withDeadline } from "./deadline.js";
import { createServerState } from "./server-state.js";
import { queueName, type TraceFinalized } from "./trace-finalized.schema.js";

/** The adding side of the queue. */
export interface TraceFinalizedQueue {
  /**
   * Queues alerts by one addition; one that is queued already is left as it is.
   * @throws QueueUnavailableError within ten seconds, when the queue's server does not take them
   */
  add(payloads: readonly TraceFinalized[]): Promise<void>;
  /** Rejects when the queue cannot be used now. */
  check(): Promise<void>;
  /** Closes the connections, within two seconds and for good: whatever is added from then on is refused. */
  close(): Promise<void>;
}

/** The queue's server cannot be reached or refuses; what is owed is swept up later. */
export class QueueUnavailableError extends Error {
  override name = "QueueUnavailableError";
}

/** How long a check or closing may take. */
const timeoutMs = 2_000;

/**
 * How long one addition may take. Nobody waits for it, and hundreds of jobs take a busy server a while: a shorter time would
 * call it down. The caller has the debt in the database and loses nothing by giving up.
 */
const addTimeoutMs = 10_000;

/**
 * Opens the adding side. It connects in the background, fails fast while the server is down, and recovers by itself.
 * Nothing is held back in memory for a server that is down.
 */
export function createTraceFinalizedQueue(options: QueueOptions): TraceFinalizedQueue {
  const closing = new AbortController();
  const state = createServerState(options.log, closing.signal);
  const producer = chooseBackend(options).openProducer(state);
  let closed: Promise<void> | undefined;
  const use = async (work: (queue: ProducerQueue) => Promise<unknown>, limitMs: number) => {
    if (closing.signal.aborted) throw new QueueUnavailableError("The queue is closed");
    try {
      await withDeadline(producer.queue().then(work), limitMs, `The queue did not answer within ${limitMs} ms`);
      state.up();
    } catch (error) {
      state.down(error);
      throw new QueueUnavailableError("The queue cannot be used now", { cause: error });
    }
  };
  const close = async () => {
    closing.abort();
    await isOverWithin(producer.close(), timeoutMs);
    producer.cut();
  };
  return {
    add: (payloads) => use((queue) => queue.addBulk(payloads.map(toJob)), addTimeoutMs),
    check: () => use((queue) => queue.getWaitingCount(), timeoutMs),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

function toJob(payload: TraceFinalized) {
  return { name: queueName, data: payload, opts: { ...jobOptions, jobId: payload.alertId } };
}
