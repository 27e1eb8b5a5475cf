import { isDatabaseUnavailable } from "@waymark/database";
import { type BackendFactory, createPostgresBackend, type PostgresQueueBackend, Queue, Worker } from "bullmq";
import type { JobProcessor, OpenedWorker, Producer, ProducerQueue, QueueBackend, WorkerSettings } from "./backend.js";
import { pause } from "./deadline.js";
import type { ServerState } from "./server-state.js";
import { queueName } from "./trace-finalized.schema.js";

/** BullMQ's tables are its own: it makes and migrates them in this schema, apart from ours. */
const schema = "bullmq";

/** Events of the queue that the database keeps: nobody reads them, so only enough to look at by hand. */
const keptEvents = 100;

/** After a failed attempt to open, further ones fail at once for this time. */
const reopenDelayMs = 1_000;

/** After a failed fetch, how long the worker's loop waits: BullMQ itself tries again at once, as fast as it can. */
const fetchRetryDelayMs = 1_000;

/** An idle worker is woken by NOTIFY; this is how long it waits when it hears nothing. */
const idleSeconds = 30;

/** What BullMQ's pool is made from. Several instances may start at once: its migrations take an advisory lock. */
function connectionOf(connectionString: string, maxConnections: number) {
  return {
    connectionString,
    schema,
    migrate: true,
    max: maxConnections,
    application_name: "waymark queue",
    connectionTimeoutMillis: 2_000,
    statement_timeout: 10_000,
    query_timeout: 12_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
  };
}

/** The queue in Postgres, by BullMQ's own backend. */
export function createPostgresQueueBackend(connectionString: string): QueueBackend {
  return {
    openProducer: (state) => openProducer(connectionString, state),
    openWorker: (process, settings, state) => openWorker(connectionString, process, settings, state),
  };
}

/**
 * Two connections at most, closed when idle. BullMQ remembers a first connection that failed for ever, so a queue that
 * did not open is thrown away and the next use opens another.
 */
function openProducer(connectionString: string, state: ServerState): Producer {
  let opened: Promise<ProducerQueue> | undefined;
  let reopenAt = 0;
  const use = (): Promise<ProducerQueue> => {
    if (opened) return opened;
    if (Date.now() < reopenAt) return Promise.reject(new Error("The queue in Postgres is not open"));
    const opening = openQueue(connectionString);
    opened = opening;
    opening.catch(() => {
      opened = undefined;
      reopenAt = Date.now() + reopenDelayMs;
    });
    return opening;
  };
  use().catch((error) => state.down(error));
  return {
    queue: use,
    close: async () => {
      const queue = await opened?.catch(() => undefined);
      await queue?.close();
    },
  };
}

async function openQueue(connectionString: string): Promise<ProducerQueue> {
  const queue = new Queue(
    queueName,
    { connection: connectionOf(connectionString, 2), streams: { events: { maxLen: keptEvents } } },
    createPostgresBackend,
  );
  // Connections that break while idle: the pool replaces them, and what fails in use is told to the caller.
  queue.on("error", () => undefined);
  try {
    await queue.waitUntilReady();
    return queue;
  } catch (error) {
    await queue.close().catch(() => undefined);
    throw error;
  }
}

function openWorker(
  connectionString: string,
  process: JobProcessor,
  settings: WorkerSettings,
  state: ServerState,
): OpenedWorker {
  const worker = new Worker(
    queueName,
    (job, token = "") => process(job, token),
    { ...settings, drainDelay: idleSeconds, connection: connectionOf(connectionString, 4) },
    steadyBackend(state),
  );
  worker.on("error", (error) => {
    if (isDatabaseUnavailable(error)) state.down(error);
    else state.oddity(error);
  });
  return { worker, cut: () => undefined };
}

/**
 * BullMQ's backend, made patient: a fetch that fails is followed by a pause, and no wait for a notification is longer
 * than `idleSeconds`, where BullMQ waits an hour after an error. Each fetch also tells how the server is.
 */
function steadyBackend(state: ServerState): BackendFactory<PostgresQueueBackend, ReturnType<typeof connectionOf>> {
  return (name, options, extra) => {
    const backend = createPostgresBackend(name, options, extra);
    const fetch = backend.moveToActive.bind(backend);
    backend.moveToActive = async (...args) => {
      try {
        const fetched = await fetch(...args);
        state.up();
        return fetched;
      } catch (error) {
        if (isDatabaseUnavailable(error)) state.down(error);
        else state.oddity(error);
        await pause(fetchRetryDelayMs);
        throw error;
      }
    };
    Object.defineProperty(backend, "maximumBlockTimeout", { value: idleSeconds });
    return backend;
  };
}
