import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { prepareDatabase } from "@waymark/cli";
import { createPool, type RolePasswords, roleUrl } from "@waymark/database";
import {
  type AppProcess,
  anyFreePort,
  keepRunning,
  readRolePasswordFile,
  startApp,
  startEmbeddedPostgres,
} from "@waymark/local";
import type pg from "pg";
import { type RedisServer, startRedis } from "./redis-server.js";
import { openWire, type Wire } from "./wire.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

const preloads = ["clock.mjs", "heap.mjs"].map((name) => new URL(`../../bin/${name}`, import.meta.url).href);

/** The processes of the system: two workers share the work. */
export const processNames = ["trace-api", "analytics-api", "collector", "worker", "worker-2", "dashboard"] as const;
export type ProcessName = (typeof processNames)[number];

const roleOf = {
  "trace-api": "trace_api",
  "analytics-api": "analytics_api",
  collector: "collector",
  worker: "worker",
  "worker-2": "worker",
  dashboard: "dashboard",
} as const satisfies Record<ProcessName, keyof RolePasswords>;

const diskMegabytes = 800;

/** A supervisor such as systemd starts an ended process after this pause. */
const restartPauseMs = 500;

/** The built system on this machine, with a Postgres and a Redis of its own, each behind a wire. */
export interface System {
  readonly folder: string;
  /** As the owner of the tables, past the services' wire. */
  readonly pool: pg.Pool;
  readonly postgres: { readonly port: number; readonly dataFolder: string; readonly connectionString: string };
  readonly postgresWire: Wire;
  /** Undefined on a machine without `redis-server`: the queue is in Postgres. */
  readonly redis: RedisServer | undefined;
  readonly redisWire: Wire | undefined;
  /** Whether Postgres has a small file system of its own. */
  readonly hasOwnDisk: boolean;
  readonly apps: Readonly<Record<ProcessName, AppProcess>>;
  /** The address of an app's public port; of a worker its metrics. */
  url(name: ProcessName): string;
  metricsUrl(name: ProcessName): string;
  /** Leads the services and `pool` to the Postgres at another port. */
  leadTo(postgresPort: number): void;
  /** Takes the apps of another clone's build from their next start on; without a folder this one's. */
  useBuild(clone?: string): void;
  /** Sets how far a process's clock is ahead of the machine's. */
  setClock(name: ProcessName, aheadMs: number): Promise<void>;
  stop(): Promise<void>;
}

export interface SystemOptions {
  /** Holds all files; made if missing. */
  folder: string;
  env?: NodeJS.ProcessEnv;
  /** Gives Postgres a small file system of its own, where this process may mount one. */
  isOwnDiskWanted?: boolean;
  /** Leads the services past the wires, whose proxies wait while this process is busy. */
  isDirect?: boolean;
  /** Gets warnings and errors of the apps. */
  say(line: string): void;
}

/** Does some work on the system in a temporary folder; Ctrl-C ends both. */
export async function onSystem(
  options: Omit<SystemOptions, "folder">,
  work: (system: System) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-proof-"));
  const system = await startSystem({ ...options, folder });
  const stop = async () => {
    await system.stop();
    await rm(folder, { recursive: true, force: true });
  };
  process.once("SIGINT", () => void stop().then(() => process.exit(130)));
  await work(system).finally(stop);
}

/**
 * Starts the built system and keeps its processes running, as systemd does.
 * @throws Error with a sentence when a part does not start
 */
export async function startSystem(options: SystemOptions): Promise<System> {
  const undo: (() => unknown)[] = [];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await openSystem(options, undo)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openSystem(options: SystemOptions, undo: (() => unknown)[]): Promise<Omit<System, "stop">> {
  const { folder, say } = options;
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o711);
  const postgresFolder = join(folder, "postgres");
  const hasOwnDisk = options.isOwnDiskWanted === true && mountDisk(postgresFolder, undo);
  const postgres = await startEmbeddedPostgres({
    folder: postgresFolder,
    settings: { max_wal_size: "128MB" },
  });
  undo.push(() => postgres.stop());
  postgres.keepRunning(say);
  const postgresWire = await openWire(postgres.port);
  undo.push(() => postgresWire.close());
  const passwords = await readRolePasswordFile(join(folder, "roles.json"));
  await prepareDatabase(postgres.connectionString, passwords);
  const redis = await startRedis(await anyFreePort(), folder);
  undo.push(() => redis?.stop());
  const redisWire = redis && (await openWire(redis.port));
  undo.push(() => redisWire?.close());
  const ownerWire = await openWire(postgres.port);
  undo.push(() => ownerWire.close());
  const pool = createPool({
    connectionString: through(ownerWire, postgres.connectionString),
    maxConnections: 3,
    applicationName: "proof",
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 0,
  });
  undo.push(() => pool.end());
  const redisPort = options.isDirect ? redis?.port : redisWire?.port;
  const env = { ...options.env, ...(redisPort && { REDIS_URL: `redis://127.0.0.1:${redisPort}` }) };
  const { connectionString, port } = postgres;
  const databaseUrl = options.isDirect ? connectionString : through(postgresWire, connectionString);
  const started = await startApps({ ...options, env }, { databaseUrl, passwords });
  undo.push(() => Promise.all(Object.values(started.apps).map((app) => app.stop())));
  await Promise.all(Object.values(started.apps).map((app) => app.ready));
  await Promise.all(processNames.map((name) => waitUntilReady(started.metricsUrl(name))));
  const dataFolder = join(postgresFolder, "data");
  return {
    folder,
    pool,
    postgres: { port, dataFolder, connectionString },
    postgresWire,
    redis,
    redisWire,
    hasOwnDisk,
    ...started,
    leadTo: (newPort) => {
      for (const wire of [postgresWire, ownerWire]) {
        wire.lead(newPort);
        wire.cut();
      }
    },
    setClock: (name, aheadMs) => writeFile(clockFileOf(folder, name), String(aheadMs)),
  };
}

/** @returns false without the right to mount */
function mountDisk(folder: string, undo: (() => unknown)[]): boolean {
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${diskMegabytes}m,mode=700`, "tmpfs", folder]);
  if (status === 0) undo.push(() => spawnSync("umount", ["--lazy", folder]));
  return status === 0;
}

function through({ port }: Wire, connectionString: string): string {
  const url = new URL(connectionString);
  url.port = String(port);
  return url.href;
}

function clockFileOf(folder: string, name: ProcessName): string {
  return join(folder, `${name}.clock`);
}

/** Holds the bytes of an app's heap after its last SIGUSR2. */
export function heapFileOf(folder: string, name: ProcessName): string {
  return join(folder, `${name}.heap`);
}

async function startApps(
  { folder, env, say }: SystemOptions,
  { databaseUrl, passwords }: { databaseUrl: string; passwords: RolePasswords },
): Promise<Pick<System, "apps" | "url" | "metricsUrl" | "useBuild">> {
  const ports = new Map<string, { port: number; metricsPort: number }>();
  for (const name of processNames) ports.set(name, { port: await anyFreePort(), metricsPort: await anyFreePort() });
  const addressOf = (name: ProcessName, kind: "port" | "metricsPort") =>
    `http://127.0.0.1:${ports.get(name)?.[kind] ?? 0}`;
  const common = {
    TRACE_API_URL: addressOf("trace-api", "port"),
    ANALYTICS_API_URL: addressOf("analytics-api", "port"),
    COLLECTOR_URL: addressOf("collector", "port"),
    DASHBOARD_URL: addressOf("dashboard", "port"),
    DIRECT_DATABASE_URL: "",
    ...env,
  };
  let build = root;
  const start = (name: ProcessName) => {
    const app = name === "worker-2" ? "worker" : name;
    const prefix = app.toUpperCase().replace("-", "_");
    return startApp({
      name,
      entry: join(build, "apps", app, "dist/main.js"),
      nodeFlags: preloads.flatMap((url) => ["--import", url]),
      env: {
        ...common,
        [`${prefix}_PORT`]: String(ports.get(name)?.port),
        [`${prefix}_METRICS_PORT`]: String(ports.get(name)?.metricsPort),
        CLOCK_FILE: clockFileOf(folder, name),
        HEAP_FILE: heapFileOf(folder, name),
        WAYMARK_DATA_DIR: join(folder, name),
        DATABASE_URL: roleUrl(databaseUrl, roleOf[name], passwords[roleOf[name]]),
      },
      cwd: root,
      logFile: join(folder, `${name}.log`),
      say,
    });
  };
  const kept = processNames.map((name) => [
    name,
    keepRunning({
      start: () => start(name),
      say,
      onRestart: async () => undefined,
      pause: (_ms, signal) => wait(restartPauseMs, undefined, { signal }).catch(() => undefined),
      now: Date.now,
    }),
  ]);
  return {
    apps: Object.fromEntries(kept) as Record<ProcessName, AppProcess>,
    url: (name) => addressOf(name, "port"),
    metricsUrl: (name) => addressOf(name, "metricsPort"),
    useBuild: (clone = root) => {
      build = clone;
    },
  };
}

/**
 * Waits until a process answers that it is ready.
 * @throws Error after 30 s
 */
export async function waitUntilReady(metricsUrl: string): Promise<void> {
  const until = Date.now() + 30_000;
  for (;;) {
    const answer = await fetch(`${metricsUrl}/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
    if (Date.now() > until) throw new Error(`${metricsUrl}/ready did not answer 200 within 30 s`);
    await wait(50);
  }
}

/** The id of the server's first process. */
export async function postmasterOf({ postgres }: Pick<System, "postgres">): Promise<number> {
  const [pid] = (await readFile(join(postgres.dataFolder, "postmaster.pid"), "utf8")).split("\n");
  return Number(pid);
}
