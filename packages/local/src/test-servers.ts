import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmod, mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limitsOf, type PoolOptions, serviceTimeouts, withClient } from "@waymark/database";
import { type Pooler, startPooler } from "@waymark/testing/pooler";
import type { Service } from "@waymark/testing/test-server";
import { startEmbeddedPostgres } from "./embedded-postgres.js";
import { anyFreePort } from "./ports.js";
import { copyTestServer, testSettings } from "./test-template.js";

/** What a run of all tests leaves free of its servers' files, a few hundred megabytes. */
const roomBytes = 4 * 2 ** 30;

/**
 * Runs a command beside a new Postgres (`TEST_DATABASE_URL`) and, if `redis-server` is on the PATH, a new Redis
 * (`TEST_REDIS_URL`), and removes both afterwards. With `REQUIRE_REDIS=1` a missing `redis-server` is an error. With
 * `WAYMARK_TEST_POOLER=session` or `transaction` pgbouncer stands before Postgres, then in `TEST_DIRECT_DATABASE_URL`. With
 * `WAYMARK_TEST_POSTGRES` the programs of Postgres are those of this folder.
 * @returns the command's exit code
 */
export async function runWithTestServers(command: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const folder = await mkdtemp(join(env["KEEP_DB"] ? tmpdir() : await quickFolder(), "waymark-test-"));
  const server = { folder: join(folder, "postgres"), programs: env["WAYMARK_TEST_POSTGRES"] };
  await copyTestServer(server);
  const postgres = await startEmbeddedPostgres({ ...server, settings: testSettings });
  let redis: ChildProcess | undefined;
  let pooler: Pooler | undefined;
  try {
    const url = new URL(postgres.connectionString);
    const redisPort = await anyFreePort();
    redis = startRedis(redisPort, folder);
    if (!redis && env["REQUIRE_REDIS"])
      throw new Error("REQUIRE_REDIS is set, and there is no redis-server on the PATH.");
    url.pathname = "/postgres";
    await makeServiceRoles(url);
    const mode = env["WAYMARK_TEST_POOLER"];
    if (mode === "session" || mode === "transaction") {
      await chmod(folder, 0o711);
      pooler = await startPooler(url, mode, join(folder, "pooler"));
    }
    return await run(command, {
      ...env,
      TEST_DATABASE_URL: pooler?.url ?? url.href,
      TEST_DIRECT_DATABASE_URL: url.href,
      ...(redis && { TEST_REDIS_URL: `redis://127.0.0.1:${redisPort}` }),
    });
  } finally {
    await pooler?.stop();
    if (env["KEEP_DB"]) {
      process.stderr.write(`KEEP_DB is set: Postgres goes on, its files are in ${folder}.\n`);
    } else {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    }
    redis?.kill();
  }
}

/** Memory, where it has plenty of room: a clone of a database takes half the processor time there, beside much work a tenth. */
async function quickFolder(): Promise<string> {
  const memory = "/dev/shm";
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return Math.min(bavail * bsize, process.availableMemory() / 2) > roomBytes ? memory : tmpdir();
}

function startRedis(port: number, folder: string): ChildProcess | undefined {
  if (spawnSync("redis-server", ["--version"]).status !== 0) return undefined;
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
  return spawn("redis-server", args, { stdio: "ignore" });
}

/** Runs the command in the foreground. A signal to this process goes on to the command; cleaning up follows. */
function run([command = "", ...args]: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: "inherit" });
    const forward = (signal: NodeJS.Signals) => child.kill(signal);
    process.on("SIGINT", forward).on("SIGTERM", forward);
    child.on("error", reject);
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

/** Options of the services' pools. Behind a pooler in transaction mode a service names each limit that its role lacks. */
const services: Record<Service, Pick<Partial<PoolOptions>, "statementTimeoutMs" | "lockTimeoutMs" | "plansOnce">> = {
  "trace-api": { plansOnce: true },
  "analytics-api": {},
  collector: { lockTimeoutMs: 5_000, plansOnce: true },
  worker: { statementTimeoutMs: 60_000, lockTimeoutMs: 5_000 },
  dashboard: {},
};

/** Makes a role for each service, with its limits and the password of the server's user. */
export async function makeServiceRoles(server: URL): Promise<void> {
  await withClient(server.href, "tests", async (client) => {
    for (const [role, own] of Object.entries(services)) {
      await client.query(`CREATE ROLE "${role}" SUPERUSER LOGIN PASSWORD '${decodeURIComponent(server.password)}'`);
      for (const [name, value] of Object.entries(limitsOf({ ...serviceTimeouts, ...own })))
        await client.query(`ALTER ROLE "${role}" SET ${name} = '${value}'`);
    }
  });
}
