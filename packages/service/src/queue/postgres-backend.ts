import { Socket } from "node:net";
import { isDatabaseUnavailable, queueSchema } from "@waymark/database";
import {
  type BackendFactory,
  createPostgresBackend,
  type PostgresConnection,
  type PostgresQueueBackend,
  Queue,
} from "bullmq";
import {
  CuttableWorker,
  keptEvents,
  type Producer,
  type ProducerQueue,
  pause,
  type QueueBackend,
  type ServerState,
} from "./backend.js";

/** After a failed attempt to open, further ones fail at once for this time. */
const reopenDelayMs = 1_000;

/** The worker's loop waits so long after an error: BullMQ itself tries again at once or ten times a second. */
const retryDelayMs = 1_000;

type Connections = ReturnType<typeof createConnections>;

/** Options of BullMQ's pool. Several instances may start at once: its migrations take an advisory lock. */
function connectionOf(connectionString: string, maxConnections: number, openSocket: () => Socket) {
  return {
    connectionString,
    schema: queueSchema,
    migrate: true,
    max: maxConnections,
    application_name: "waymark queue",
    connectionTimeoutMillis: 2_000,
    statement_timeout: 10_000,
    query_timeout: 12_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    stream: openSocket,
  };
}

/** The connections of one side. `pg` closes them in order, for as long as the server takes, or `cut` ends them. */
function createConnections(connectionString: string, maxConnections: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const openSocket = () => {
    const socket = new Socket();
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Only after `pg` has begun to connect it: connecting revives a destroyed socket.
    if (isCut) queueMicrotask(() => socket.destroy());
    return socket;
  };
  return {
    options: connectionOf(connectionString, maxConnections, openSocket),
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** BullMQ's backend with a listener on each connection: one that breaks without one would end the process. */
const createBackend: BackendFactory<PostgresQueueBackend, Connections["options"]> = (name, options, extra) => {
  const backend = createPostgresBackend(name, options, extra);
  backend.connection.pool.on("connect", (client) => client.on("error", () => undefined));
  openWithoutMigrating(backend.connection);
  return backend;
};

/** Skips BullMQ's migrations if our role may make no tables: `waymark migrate` has made them. */
function openWithoutMigrating(connection: PostgresConnection): void {
  const open = connection.waitUntilReady.bind(connection);
  let opened: Promise<void> | undefined;
  connection.waitUntilReady = () => {
    opened ??= mayMakeTables(connection).then((value) => {
      Object.defineProperty(connection, "migrateOnConnect", { value });
      return open();
    });
    return opened;
  };
}

async function mayMakeTables({ pool }: PostgresConnection): Promise<boolean> {
  const { rows } = await pool.query<{ may: boolean }>(
    "SELECT has_database_privilege(current_database(), 'CREATE') AS may",
  );
  return rows[0]?.may ?? false;
}

export function createPostgresQueueBackend(connectionString: string): QueueBackend {
  return {
    openProducer: (queueName, state) => openProducer(createConnections(connectionString, 2), queueName, state),
    openWorker(queueName, process, settings, state) {
      // One more connection listens.
      const connections = createConnections(connectionString, 4);
      const report = (error: unknown) => {
        if (isDatabaseUnavailable(error)) state.down(error);
        else state.oddity(error);
      };
      const options = { ...settings, connection: connections.options };
      const backend = createSteadyBackend(settings.drainDelay, state, report);
      const worker = new CuttableWorker(queueName, process, options, backend);
      worker.on("error", report);
      return {
        worker,
        cut() {
          worker.stopTimers();
          connections.cut();
        },
      };
    },
  };
}

/** Two connections, closed when idle. BullMQ never forgets a failed one, so the next use replaces the queue. */
function openProducer(connections: Connections, queueName: string, state: ServerState): Producer {
  let opened: Promise<ProducerQueue> | undefined;
  let reopenAt = 0;
  const use = (): Promise<ProducerQueue> => {
    if (opened) return opened;
    if (Date.now() < reopenAt) return Promise.reject(new Error("The queue in Postgres is not open"));
    const opening = openQueue(connections, queueName);
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
    check: async () => (await use()).getWaitingCount(),
    close: async () => {
      const queue = await opened?.catch(() => undefined);
      await queue?.close();
    },
    cut: connections.cut,
  };
}

async function openQueue(connections: Connections, queueName: string): Promise<ProducerQueue> {
  const queue = new Queue(
    queueName,
    { connection: connections.options, streams: { events: { maxLen: keptEvents } } },
    createBackend,
  );
  // The pool replaces connections that break while idle; errors of a command reach its caller.
  queue.on("error", () => undefined);
  try {
    await queue.waitUntilReady();
    return queue;
  } catch (error) {
    await queue.close().catch(() => undefined);
    throw error;
  }
}

/**
 * The backend with a pause after each error of the worker's loop. It waits `idleSeconds` for a notification at most (BullMQ
 * waits an hour after an error), and reports the server's state with each fetch.
 */
function createSteadyBackend(
  idleSeconds: number,
  state: ServerState,
  report: (error: unknown) => void,
): BackendFactory<PostgresQueueBackend, Connections["options"]> {
  const pauseAfter = async (error: unknown): Promise<never> => {
    report(error);
    await pause(retryDelayMs, state.closing);
    throw error;
  };
  return (name, options, extra) => {
    const backend = createBackend(name, options, extra);
    const fetch = backend.moveToActive.bind(backend);
    const wait = backend.waitForJob.bind(backend);
    backend.moveToActive = async (...args) => {
      // Closing wakes an idle worker, and it would take one more job.
      if (state.closing.aborted) return [];
      const fetched = await fetch(...args).catch(pauseAfter);
      state.up();
      return fetched;
    };
    backend.waitForJob = (seconds) => wait(seconds).catch(pauseAfter);
    Object.defineProperty(backend, "maximumBlockTimeout", { value: idleSeconds });
    return backend;
  };
}
