import { Queue, Worker } from "bullmq";
import { Redis, type RedisOptions } from "ioredis";
import type { OpenedWorker, Producer, QueueBackend, WorkerSettings } from "./backend.js";
import type { ServerState } from "./server-state.js";
import { queueName } from "./trace-finalized.schema.js";

/** Events of the queue that Redis keeps: nobody reads them, so only enough to look at by hand. */
const keptEvents = 100;

const connecting = {
  connectTimeout: 2_000,
  // At most two seconds between attempts, so that a server that is back is noticed within two seconds.
  retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), 2_000),
  // After a failover the address may lead to a replica: connecting again finds the new primary.
  reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
} satisfies RedisOptions;

/** The queue on Redis. */
export function createRedisQueueBackend(url: string): QueueBackend {
  return {
    openProducer: (state) => openProducer(url, state),
    openWorker: (process, settings, state) => openWorker(url, process, settings, state),
  };
}

/**
 * The producer's client is our own, so that a command either goes out now or fails now: no queue of commands for later,
 * none sent twice, each bounded in time.
 */
function openProducer(url: string, state: ServerState): Producer {
  const client = new Redis(url, {
    ...connecting,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 2_000,
  });
  client.on("ready", () => state.up());
  client.on("error", (error) => state.down(error));
  client.on("close", () => state.down(new Error("The connection to Redis was closed")));
  const opened = new Promise<void>((resolve) => {
    client.once("ready", resolve).once("close", resolve);
  });
  const queue = new Queue(queueName, {
    connection: client,
    skipVersionCheck: true,
    streams: { events: { maxLen: keptEvents } },
  });
  // The client's own events say the same.
  queue.on("error", () => undefined);
  return {
    async queue() {
      if (client.status !== "ready") await opened;
      if (client.status !== "ready") throw new Error("Redis is not connected");
      return queue;
    },
    async close() {
      await queue.close();
      client.disconnect();
    },
  };
}

function openWorker(
  url: string,
  process: Parameters<QueueBackend["openWorker"]>[0],
  settings: WorkerSettings,
  state: ServerState,
): OpenedWorker {
  const worker = new Worker(queueName, (job, token = "") => process(job, token), {
    ...settings,
    connection: { ...connecting, url, maxRetriesPerRequest: null },
  });
  const backend = worker.getBackend();
  backend.on("ready", () => state.up());
  backend.on("close", () => state.down(new Error("The connection to Redis was closed")));
  worker.on("error", (error) => {
    if (isConnectionError(error)) state.down(error);
    else state.oddity(error);
  });
  return {
    worker,
    cut: () => {
      for (const client of [backend.client, backend.blockingClient])
        client?.then(
          (it) => it.disconnect(),
          () => undefined,
        );
    },
  };
}

function isConnectionError(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return (
    code !== undefined ||
    syscall !== undefined ||
    /^(Connection is closed|Command timed out|connect )/.test(error.message)
  );
}
