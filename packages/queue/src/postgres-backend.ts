import { Socket } from "node:net";
import { isDatabaseUnavailable, queueSchema } from "@waymark/database";
import {
  type BackendFactory,
  createPostgresBackend,
  type PostgresConnection,
  type PostgresQueueBackend,
  Queue,
} from "bullmq";
import type { JobProcessor, OpenedWorker, Producer, ProducerQueue, QueueBackend, WorkerSettings } from "./backend.js";
import { CuttableWorker } from "./cuttable-worker.js";
import { pause } from "./deadline.js";
import type { ServerState } from "./server-state.js";
import { queueName } from "./trace-finalized.schema.js";

/** Events of the queue that the database keeps: nobody reads them, so only enough to look at by hand. */
const keptEvents = 100;

/** After a failed attempt to open, further ones fail at once for this time. */
const reopenDelayMs = 1_000;

/** After the database failed, how long the worker's loop waits: BullMQ itself tries again at once or ten times a second. */
const retryDelayMs = 1_000;

/** The connections of one side. `pg` closes them in order, which takes as long as the server does, or they are cut. */
interface Connections {
  readonly options: ReturnType<typeof connectionOf>;
  cut(): void;
}

/** What BullMQ's pool is made from. Several instances may start at once: its migrations take an advisory lock. */
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

function createConnections(connectionString: string, maxConnections: number): Connections {
  const sockets = new Set<Socket>();
  let isCut = false;
  const openSocket = () => {
    const socket = new Socket();
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Not before `pg` has begun to connect it: connecting revives a socket that was destroyed.
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

/**
 * BullMQ's backend, which leaves a connection without a listener while it makes its tables on it: one that breaks then
 * would end the process.
 */
const createBackend: BackendFactory<PostgresQueueBackend, Connections["options"]> = (name, options, extra) => {
  const backend = createPostgresBackend(name, options, extra);
  backend.connection.pool.on("connect", (client) => client.on("error", () => undefined));
  openWithoutMigrating(backend.connection);
  return backend;
};

/** Leaves BullMQ's tables as they are where our role may make none: the migration made them. */
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

/** The queue in Postgres, by BullMQ's own backend. */
export function createPostgresQueueBackend(connectionString: string): QueueBackend {
  return {
    openProducer: (state) => openProducer(createConnections(connectionString, 2), state),
    openWorker: (process, settings, state) =>
      openWorker(createConnections(connectionString, 4), process, settings, state),
  };
}

/**
 * Two connections at most, closed when idle. BullMQ remembers a first connection that failed for ever, so a queue that
 * did not open is thrown away and the next use opens another.
 */
function openProducer(connections: Connections, state: ServerState): Producer {
  let opened: Promise<ProducerQueue> | undefined;
  let reopenAt = 0;
  const use = (): Promise<ProducerQueue> => {
    if (opened) return opened;
    if (Date.now() < reopenAt) return Promise.reject(new Error("The queue in Postgres is not open"));
    const opening = openQueue(connections);
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
    cut: connections.cut,
  };
}

async function openQueue(connections: Connections): Promise<ProducerQueue> {
  const queue = new Queue(
    queueName,
    { connection: connections.options, streams: { events: { maxLen: keptEvents } } },
    createBackend,
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

/** Four connections at most, and one that listens. */
function openWorker(
  connections: Connections,
  process: JobProcessor,
  settings: WorkerSettings,
  state: ServerState,
): OpenedWorker {
  const report = (error: unknown) => {
    if (isDatabaseUnavailable(error)) state.down(error);
    else state.oddity(error);
  };
  const options = { ...settings, connection: connections.options };
  const worker = new CuttableWorker(process, options, createSteadyBackend(settings.drainDelay, state, report));
  worker.on("error", report);
  return {
    worker,
    cut: () => {
      worker.stopTimers();
      connections.cut();
    },
  };
}

/**
 * The backend, made patient: what fails in the worker's loop is followed by a pause, and no wait for a
 * notification is longer than `idleSeconds`, where BullMQ waits an hour after an error. Each fetch also tells how the
 * server is.
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
      // Closing wakes an idle worker, which would take one job more.
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
