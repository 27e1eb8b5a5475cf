import { createServerState, jobOptions, type ProducerQueue } from "./backend.js";
import { chooseBackend, type QueueServer } from "./choose-backend.js";
import { isOverWithin, withDeadline } from "./deadline.js";
import type { QueueKind } from "./queues.js";

/** The adding side of a queue. */
export interface JobQueue<Payload extends object> {
  /**
   * Adds jobs by one statement or pipeline; leaves queued ones alone.
   * @throws QueueUnavailableError within ten seconds, when the queue's server does not take them
   */
  add(payloads: readonly Payload[]): Promise<void>;
  /**
   * Lets jobs run now that wait for a later time: a worker's clock was ahead when it put them off. Leaves others alone.
   * @throws QueueUnavailableError as `add`
   */
  hurry(payloads: readonly Payload[]): Promise<void>;
  /** Rejects when the queue takes no jobs now. */
  check(): Promise<void>;
  /** Closes the connections within two seconds, for good: from then on `add` rejects. */
  close(): Promise<void>;
}

/** The queue's server cannot be reached or refuses. A sweep adds the jobs later. */
export class QueueUnavailableError extends Error {
  override name = "QueueUnavailableError";
}

/** How long a check or closing may take. */
const timeoutMs = 2_000;

/**
 * How long one addition may take. Nobody waits for it, and hundreds of jobs take a busy server a while, so a shorter time would
 * call the server down. The caller has the work in the database and loses nothing by giving up.
 */
const addTimeoutMs = 10_000;

/**
 * Opens the adding side of a queue. It connects in the background, fails fast while the server is down, keeps nothing in
 * memory meanwhile, and recovers by itself.
 */
export function createQueue<Payload extends object>(kind: QueueKind<Payload>, server: QueueServer): JobQueue<Payload> {
  const closing = new AbortController();
  const state = createServerState(server.log.child({ queue: kind.name }), closing.signal);
  const producer = chooseBackend(server).openProducer(kind.name, state);
  const toJob = (payload: Payload) => ({
    name: kind.name,
    data: payload,
    opts: { ...jobOptions, jobId: kind.jobIdOf(payload) },
  });
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
    hurry: (payloads) =>
      use((queue) => Promise.all(payloads.map((payload) => hurryJob(queue, kind.jobIdOf(payload)))), addTimeoutMs),
    check: () => use(() => producer.check(), timeoutMs),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

async function hurryJob(queue: ProducerQueue, id: string): Promise<void> {
  const job = await queue.getJob(id);
  if (!(await job?.isDelayed())) return;
  await job?.promote().catch(async (error) => {
    // Its time came meanwhile.
    if (await job.isDelayed()) throw error;
  });
}
