import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { childrenOf } from "@waymark/local/process-usage";
import pg from "pg";
import { postmasterOf } from "../system/start-system.js";
import type { Wire } from "../system/wire.js";
import { during, type Fault, freeze, type Scene, signal } from "./fault.js";

const cutEveryMs = 500;
/** Above Postgres's default of 100. */
const moreThanAllConnections = 120;

/** The server and all its children, as they are now. */
async function postgresProcesses({ system }: Scene): Promise<number[]> {
  const postmaster = await postmasterOf(system);
  return [postmaster, ...childrenOf(postmaster)];
}

const needsProc = () => (process.platform === "linux" ? undefined : "/proc, which lists the processes of Postgres");
const needsRedis = ({ system }: Scene) => (system.redis ? undefined : "redis-server on the PATH");

/** Breaks all connections again and again, and in between single ones whose answer is on its way. */
async function cutOften(scene: Scene, wires: readonly (Wire | undefined)[]): Promise<void> {
  for (const wire of wires) wire?.dropAnswers(true);
  for (const until = Date.now() + scene.seconds * 1_000; Date.now() < until; await wait(cutEveryMs)) {
    for (const wire of wires) wire?.cut();
  }
  for (const wire of wires) wire?.dropAnswers(false);
}

function freezeWires(scene: Scene, wires: readonly (Wire | undefined)[]): Promise<void> {
  return during(
    scene,
    () => wires.forEach((wire) => void wire?.freeze()),
    () => wires.forEach((wire) => void wire?.thaw()),
  );
}

/** Takes every connection that Postgres has for others than its owner, then cuts the services' own. */
async function fillConnections(scene: Scene): Promise<void> {
  const clients: pg.Client[] = [];
  const begin = async () => {
    scene.system.postgresWire.refuse(true);
    scene.system.postgresWire.cut();
    for (let n = 0; n < moreThanAllConnections; n++) {
      const client = new pg.Client({ connectionString: scene.system.postgres.connectionString });
      client.on("error", () => undefined);
      const isFull = await client.connect().then(
        () => false,
        () => true,
      );
      if (isFull) break;
      clients.push(client);
    }
    scene.system.postgresWire.refuse(false);
  };
  await during(scene, begin, () => Promise.all(clients.map((client) => client.end().catch(() => undefined))));
}

/** Holds a lock, so statements wait and take every connection of the services' pools. */
async function lockTraces(scene: Scene): Promise<void> {
  const client = await scene.system.pool.connect();
  try {
    await during(
      scene,
      () => client.query("BEGIN; LOCK TABLE trace, event IN ACCESS EXCLUSIVE MODE"),
      () => client.query("COMMIT"),
    );
  } finally {
    client.release();
  }
}

/** Fills the file system of Postgres. It has a size of its own, so nothing else on the machine is full. */
async function fillDisk(scene: Scene): Promise<void> {
  const ballast = join(scene.system.folder, "postgres", "ballast");
  const megabyte = Buffer.alloc(1_048_576);
  const begin = async () => {
    try {
      for (;;) await writeFile(ballast, megabyte, { flag: "a" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  };
  await during(scene, begin, () => rm(ballast, { force: true }));
}

export const storeFaults: readonly Fault[] = [
  {
    name: "kill postgres",
    what: "kill -9 of Postgres with all its processes; it recovers from its log",
    isShort: true,
    missing: needsProc,
    run: async (scene) => signal(await postgresProcesses(scene), "SIGKILL"),
  },
  {
    name: "freeze postgres",
    what: "SIGSTOP of all processes of Postgres, then SIGCONT",
    isShort: true,
    missing: needsProc,
    run: (scene) => freeze(scene, () => postgresProcesses(scene)),
  },
  {
    name: "cut postgres",
    what: "connections to Postgres break, also after the commit and before its answer",
    isShort: true,
    run: (scene) => cutOften(scene, [scene.system.postgresWire]),
  },
  {
    name: "freeze wires",
    what: "no byte passes between the services and their stores",
    run: (scene) => freezeWires(scene, [scene.system.postgresWire, scene.system.redisWire]),
  },
  {
    name: "fill connections",
    what: "Postgres has no connection left, and the services' own break",
    run: fillConnections,
  },
  {
    name: "fill pools",
    what: "a lock on traces and events makes all statements wait",
    isShort: true,
    run: lockTraces,
  },
  {
    name: "fill disk",
    what: "the file system of Postgres is full",
    isShort: true,
    missing: ({ system }) => (system.hasOwnDisk ? undefined : "the right to mount a small file system"),
    run: fillDisk,
  },
  {
    name: "kill redis",
    what: "kill -9 of Redis; it starts empty",
    isShort: true,
    missing: needsRedis,
    run: async ({ system }) => system.redis?.signal("SIGKILL"),
  },
  {
    name: "freeze redis",
    what: "SIGSTOP of Redis, then SIGCONT",
    missing: needsRedis,
    run: (scene) =>
      during(
        scene,
        () => scene.system.redis?.signal("SIGSTOP"),
        () => scene.system.redis?.signal("SIGCONT"),
      ),
  },
  {
    name: "empty redis",
    what: "FLUSHALL twice a second",
    isShort: true,
    missing: needsRedis,
    run: async (scene) => {
      for (const until = Date.now() + scene.seconds * 1_000; Date.now() < until; await wait(cutEveryMs)) {
        await scene.system.redis?.empty();
      }
    },
  },
  {
    name: "cut redis",
    what: "connections to Redis break, also in mid-answer",
    missing: needsRedis,
    run: (scene) => cutOften(scene, [scene.system.redisWire]),
  },
  {
    name: "cut clients",
    what: "clients' connections break, also after the commit and before its answer",
    isShort: true,
    run: (scene) => cutOften(scene, scene.clientWires),
  },
  {
    name: "freeze clients",
    what: "no byte passes between the clients and the services",
    run: (scene) => freezeWires(scene, scene.clientWires),
  },
];
