import { jobOptions, type ProducerQueue } from "./backend.js";
import { chooseBackend, type QueueOptions } from "./choose-backend.js";
import { isOverWithin, withDeadline } from "./deadline.js";
import { createServerState } from "./server-state.js";
import { queueName, type TraceFinalized } from "./trace-finalized.schema.js";

/** The adding side of the queue. */
export interface TraceFinalizedQueue {
  /**
   * Queues an alert; one that is queued already is left as it is.
   * @throws QueueUnavailableError within two seconds, when the queue's server does not take it
   */
  add(payload: TraceFinalized): Promise<void>;
  /** Rejects when the queue cannot be used now. */
  check(): Promise<void>;
  /** Closes the connections, within two seconds and for good: whatever is added from then on is refused. */
  close(): Promise<void>;
}

/** The queue's server cannot be reached or refuses; what is owed is swept up later. */
export class QueueUnavailableError extends Error {
  override name = "QueueUnavailableError";
}

/** How long one operation may take: the caller has the debt in the database and loses nothing by giving up. */
const timeoutMs = 2_000;

/**
 * Opens the adding side. It connects in the background, fails fast while the server is down, and recovers by itself.
 * Nothing is held back in memory for a server that is down.
 */
export function createTraceFinalizedQueue(options: QueueOptions): TraceFinalizedQueue {
  const closing = new AbortController();
  const state = createServerState(options.log, closing.signal);
  const producer = chooseBackend(options).openProducer(state);
  let closed: Promise<void> | undefined;
  const use = async (work: (queue: ProducerQueue) => Promise<unknown>) => {
    if (closing.signal.aborted) throw new QueueUnavailableError("The queue is closed");
    try {
      await withDeadline(producer.queue().then(work), timeoutMs, `The queue did not answer within ${timeoutMs} ms`);
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
    add: (payload) => use((queue) => queue.add(queueName, payload, { ...jobOptions, jobId: payload.alertId })),
    check: () => use((queue) => queue.getWaitingCount()),
    close() {
      closed ??= close();
      return closed;
    },
  };
}
