import { createRedisBackend, Queue } from "bullmq";
import { Redis, type RedisOptions } from "ioredis";
import { CuttableWorker, keptEvents, type Producer, type QueueBackend, type ServerState } from "./backend.js";

const connecting = {
  connectTimeout: 2_000,
  disconnectTimeout: 500,
  // After a failover the address may lead to a replica: connecting again finds the new primary.
  reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  // No command outlives its connection: none goes out twice, and none waits for a lost server.
  autoResendUnfulfilledCommands: false,
  // BullMQ asks for null, and then closing hangs on a read cut by an outage.
  maxRetriesPerRequest: 0,
} satisfies RedisOptions;

type ClientOptions = Pick<RedisOptions, "enableOfflineQueue" | "commandTimeout" | "connectionName">;

export function createRedisQueueBackend(url: string): QueueBackend {
  return {
    openProducer: (queueName, state) => openProducer(url, queueName, state),
    openWorker(queueName, process, settings, state) {
      const connections = createWorkerConnections(url, state);
      const options = { ...settings, connection: connections.client };
      const worker = new CuttableWorker(queueName, process, options, createRedisBackend);
      worker.on("error", (error) => {
        if (isConnectionError(error)) state.down(error);
        else state.oddity(error);
      });
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

/** Keeps connecting until it is cut; its events report the server's state. */
function connect(url: string, options: ClientOptions, state: ServerState) {
  let isCut = false;
  // Two seconds between attempts at most, so we notice a recovery within two seconds.
  const retryStrategy = (attempt: number) => (isCut ? null : Math.min(50 * 2 ** Math.min(attempt, 10), 2_000));
  const client = new Redis(url, { ...connecting, ...options, retryStrategy });
  client.on("connect", () => isCut && client.disconnect());
  client.on("ready", () => state.up());
  client.on("error", (error) => state.down(error));
  client.on("close", () => state.down(new Error("The connection to Redis was closed")));
  return {
    client,
    /** Ends it for good: BullMQ reconnects a client if it ends while BullMQ waits for it. */
    cut() {
      isCut = true;
      if (client.status !== "end") client.disconnect();
    },
  };
}

/** A command of the producer goes out now or fails now; none waits for a connection. */
function openProducer(url: string, queueName: string, state: ServerState): Producer {
  const { client, cut } = connect(url, { enableOfflineQueue: false, commandTimeout: 2_000 }, state);
  const opened = new Promise<void>((resolve) => {
    client.once("ready", resolve).once("close", resolve);
  });
  const queue = new Queue(queueName, {
    connection: client,
    skipVersionCheck: true,
    streams: { events: { maxLen: keptEvents } },
  });
  // The client's own events report the same.
  queue.on("error", () => undefined);
  return {
    async queue() {
      if (client.status !== "ready") await opened;
      if (client.status !== "ready") throw new Error("Redis is not connected");
      return queue;
    },
    check: () => queue.trimEvents(keptEvents),
    close: () => queue.close(),
    cut,
  };
}

/** Two connections: BullMQ copies the first, and the worker waits for jobs on the copy. */
function createWorkerConnections(url: string, state: ServerState) {
  const connections: ReturnType<typeof connect>[] = [];
  const connectAnother = (options: ClientOptions = {}) => {
    const another = connect(url, options, state);
    connections.push(another);
    return another.client;
  };
  return {
    client: Object.assign(connectAnother(), { duplicate: connectAnother }),
    cut() {
      for (const connection of connections) connection.cut();
    },
  };
}

function isConnectionError(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return (
    code !== undefined ||
    syscall !== undefined ||
    /^(Connection is closed|Command timed out|connect |Reached the max retries)/.test(error.message)
  );
}
