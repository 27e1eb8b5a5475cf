import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
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
import { type Receiver, startReceiver } from "./receiver.js";
import { type RedisServer, startRedis } from "./redis-server.js";
import { type Undo, undoing } from "./undo.js";
import { openWire, type Wire } from "./wire.js";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

const preloads = ["clock.mjs", "heap.mjs"].map((name) => new URL(`../../bin/${name}`, import.meta.url).href);

export const serviceNames = ["trace-api", "analytics-api", "collector", "dashboard"] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The processes of the system: two workers share the work. */
export const processNames = [...serviceNames, "worker", "worker-2"] as const;
export type ProcessName = (typeof processNames)[number];

const roleOf = {
  "trace-api": "trace_api",
  "analytics-api": "analytics_api",
  collector: "collector",
  worker: "worker",
  "worker-2": "worker",
  dashboard: "dashboard",
} as const satisfies Record<ProcessName, keyof RolePasswords>;

/** Limits of a client's rate would refuse most requests of one machine. */
export const withoutRateLimits = { TRACE_RATE_LIMIT_PER_SECOND: "0", COLLECTOR_RATE_LIMIT_PER_ADDRESS: "0" };

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
  readonly receiver: Receiver;
  /** Whether Postgres has a small file system of its own. */
  readonly hasOwnDisk: boolean;
  readonly apps: Readonly<Record<ProcessName, AppProcess>>;
  url(name: ServiceName): string;
  metricsUrl(name: ProcessName): string;
  /** Leads the services and `pool` to the Postgres at another port. */
  leadTo(postgresPort: number): void;
  /** Takes the apps of another clone's build from their next start on; without a folder this one's. */
  useBuild(clone?: string): void;
  setClock(name: ProcessName, aheadMs: number): Promise<void>;
}

interface SystemOptions {
  env?: NodeJS.ProcessEnv;
  /** Gives Postgres a small file system of its own, where this process may mount one. */
  isOwnDiskWanted?: boolean;
  /** Leads the services past the wires, whose proxies wait while this process is busy. */
  isDirect?: boolean;
  /** Gets warnings and errors of the apps. */
  say?(line: string): void;
}

/** Does some work on the system; Ctrl-C ends both. */
export async function onSystem(options: SystemOptions, work: (system: System, undo: Undo) => Promise<void>) {
  await undoing(async (undo) => work(await startSystem(options, undo), undo));
}

/**
 * Starts the built system in a temporary folder and keeps its processes running, as systemd does.
 * @throws Error with a sentence when a part does not start
 */
export async function startSystem(options: SystemOptions, undo: Undo): Promise<System> {
  const { say = () => undefined } = options;
  const folder = await makeFolder(undo);
  const postgresFolder = join(folder, "postgres");
  const hasOwnDisk = options.isOwnDiskWanted === true && mountDisk(postgresFolder, undo);
  const postgres = await startEmbeddedPostgres({ folder: postgresFolder, settings: { max_wal_size: "128MB" } });
  undo(() => postgres.stop());
  postgres.keepRunning(say);
  const { connectionString, port } = postgres;
  const passwords = await readRolePasswordFile(join(folder, "roles.json"));
  await prepareDatabase(connectionString, passwords);
  const [postgresWire, ownerWire] = [await openWire(port, undo), await openWire(port, undo)];
  const redis = await startRedis(await anyFreePort(), folder, undo);
  const redisWire = redis && (await openWire(redis.port, undo));
  const pool = createPool({
    connectionString: through(ownerWire, connectionString),
    maxConnections: 3,
    applicationName: "proof",
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 0,
  });
  undo(() => pool.end());
  const receiver = await startReceiver(undo);
  const redisPort = options.isDirect ? redis?.port : redisWire?.port;
  const started = await startApps({
    folder,
    env: {
      ...settingsFor(receiver),
      ...(redisPort && { REDIS_URL: `redis://127.0.0.1:${redisPort}` }),
      ...options.env,
    },
    databaseUrl: options.isDirect ? connectionString : through(postgresWire, connectionString),
    passwords,
    say,
  });
  undo(() => Promise.all(Object.values(started.apps).map((app) => app.stop())));
  await Promise.all(Object.values(started.apps).map((app) => app.ready));
  await Promise.all(processNames.map((name) => waitUntilReady(started.metricsUrl(name))));
  return {
    ...started,
    folder,
    pool,
    postgresWire,
    redis,
    redisWire,
    receiver,
    hasOwnDisk,
    postgres: { port, dataFolder: join(postgresFolder, "data"), connectionString },
    leadTo: (newPort) => {
      for (const wire of [postgresWire, ownerWire]) {
        wire.lead(newPort);
        wire.cut();
      }
    },
    setClock: (name, aheadMs) => writeFile(clockFileOf(folder, name), String(aheadMs)),
  };
}

/** A temporary folder that the users of the servers may enter. */
export async function makeFolder(undo: Undo): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "waymark-proof-"));
  undo(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711);
  return folder;
}

/** As in production, but limits of mails above the load's failures. */
function settingsFor({ url }: Receiver): NodeJS.ProcessEnv {
  return {
    RESEND_API_KEY: "re_proof",
    RESEND_BASE_URL: url,
    ALERT_FROM: "Waymark <alerts@example.com>",
    ALERT_MAILS_PER_ACCOUNT_PER_HOUR: "10000",
    WEBHOOK_ALLOW_PRIVATE: "127.0.0.0/8,::1/128",
    TRUSTED_PROXIES: "loopback",
  };
}

/** @returns false without the right to mount */
function mountDisk(folder: string, undo: Undo): boolean {
  mkdirSync(folder, { recursive: true });
  const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${diskMegabytes}m,mode=700`, "tmpfs", folder]);
  if (status === 0) undo(() => spawnSync("umount", ["--lazy", folder]));
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

interface Ports {
  port: number;
  metricsPort: number;
}

export async function freePorts(): Promise<Ports> {
  return { port: await anyFreePort(), metricsPort: await anyFreePort() };
}

interface AppsOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
  databaseUrl: string;
  passwords: RolePasswords;
  say(line: string): void;
}

async function startApps({ folder, env, databaseUrl, passwords, say }: AppsOptions) {
  const ports = {} as Record<ProcessName, Ports>;
  for (const name of processNames) ports[name] = await freePorts();
  const url = (name: ServiceName) => `http://127.0.0.1:${ports[name].port}`;
  const common = {
    TRACE_API_URL: url("trace-api"),
    ANALYTICS_API_URL: url("analytics-api"),
    COLLECTOR_URL: url("collector"),
    DASHBOARD_URL: url("dashboard"),
    DIRECT_DATABASE_URL: "",
    ...env,
  };
  let build = root;
  const start = (name: ProcessName) =>
    launch(name, {
      build,
      folder,
      say,
      nodeFlags: preloads.flatMap((preload) => ["--import", preload]),
      env: {
        ...common,
        CLOCK_FILE: clockFileOf(folder, name),
        HEAP_FILE: heapFileOf(folder, name),
        DATABASE_URL: roleUrl(databaseUrl, roleOf[name], passwords[roleOf[name]]),
      },
      ports: ports[name],
    });
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
    url,
    metricsUrl: (name: ProcessName) => `http://127.0.0.1:${ports[name].metricsPort}`,
    useBuild: (clone = root) => {
      build = clone;
    },
  };
}

interface LaunchOptions {
  /** The folder of a built clone; without it this one's. */
  build?: string | undefined;
  entry?: string;
  /** Holds its log and data. */
  folder: string;
  ports: Ports;
  env: NodeJS.ProcessEnv;
  nodeFlags?: readonly string[];
  say?(line: string): void;
}

/** Starts an app with the flags of its image. */
export function launch(name: ProcessName, options: LaunchOptions): AppProcess {
  const { build = root, folder, ports, env, nodeFlags = [], say = () => undefined } = options;
  const app = name === "worker-2" ? "worker" : name;
  const prefix = app.toUpperCase().replace("-", "_");
  return startApp({
    name,
    entry: options.entry ?? join(build, "apps", app, "dist/main.js"),
    nodeFlags,
    env: {
      [`${prefix}_PORT`]: String(ports.port),
      [`${prefix}_METRICS_PORT`]: String(ports.metricsPort),
      WAYMARK_DATA_DIR: join(folder, name),
      ...env,
    },
    cwd: build,
    logFile: join(folder, `${name}.log`),
    say,
  });
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

export async function postmasterOf({ postgres }: { postgres: { dataFolder: string } }): Promise<number> {
  const [pid] = (await readFile(join(postgres.dataFolder, "postmaster.pid"), "utf8")).split("\n");
  return Number(pid);
}
