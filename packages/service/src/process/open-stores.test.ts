import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import {
  byRole,
  createPool,
  grantRoles,
  migrate,
  readMigrationNames,
  roleUrl,
  serviceTimeouts,
} from "@waymark/database";
import {
  describeWithProgram,
  describeWithRedis,
  freePort,
  useDatabase,
  useEmptyDatabase,
  useRolePrefix,
} from "@waymark/testing";
import { startPooler } from "@waymark/testing/pooler";
import pg from "pg";
import { createRegistry } from "./metrics.js";
import { openStores, type StoresOptions } from "./open-stores.js";
import { observeReadiness, readiness } from "./operations-server.js";

const database = useDatabase();
const prefix = useRolePrefix();
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(options: Partial<StoresOptions> & { url?: string; isPooledByTransaction?: boolean } = {}) {
  const { url = database.directUrl, isPooledByTransaction, service = "test", ...rest } = options;
  const poolOptions = {
    connectionString: url,
    maxConnections: 1,
    applicationName: "test",
    ...serviceTimeouts,
    isPooledByTransaction,
  };
  const pool = createPool(poolOptions);
  closers.push(() => pool.end());
  const registry = createRegistry("test");
  const warned: string[] = [];
  const required = await openStores({
    service,
    pool,
    poolOptions,
    registry,
    warn: (line) => warned.push(line),
    ...rest,
  });
  return { warned, registry, pool, ready: () => readiness({ required }) };
}

describe("openStores", () => {
  it("checks the database, and leaves one out of reach to /ready", async () => {
    const { ready } = await open();
    expect(await ready()).toEqual({ status: 200, body: { status: "ok", checks: { database: "ok" } } });
    const away = await open({ url: "postgres://127.0.0.1:1/none", redisUrl: "redis://127.0.0.1:1" });
    expect(await away.ready()).toMatchObject({ status: 503, body: { error: "Not ready: database" } });
  });
});

describe("/ready of a service", () => {
  const empty = useEmptyDatabase();
  const passwords = byRole((role) => `password-of-${role}`);
  const notReady = (reason: string) => ({
    status: 503,
    body: { error: expect.stringContaining(`Not ready: database (${reason}`) },
  });

  it("waits, and says so at the start, until the database has the release's newest migration", async () => {
    const { ready, warned, registry } = await open({ url: empty.url });
    observeReadiness(registry, ready);
    expect(await ready()).toMatchObject(notReady("the database has no tables: run 'waymark migrate'"));
    await migrate(empty.url, { only: (await readMigrationNames()).slice(0, -1) });
    expect(await ready()).toMatchObject(notReady("the schema is older than this release: run its 'waymark migrate'"));
    expect(await registry.metrics()).toContain('waymark_ready{service="test"} 0');
    await migrate(empty.url);
    expect(await registry.metrics()).toContain('waymark_ready{service="test"} 1');
    expect(await ready()).toMatchObject({ status: 200 });
    expect(warned).toEqual(["This service waits: the database has no tables: run 'waymark migrate'"]);
  });

  it("waits, and says so at the start, while Postgres refuses the password or the database", async () => {
    const url = new URL(database.directUrl);
    url.password = "wrong-password-of-the-test";
    const wrong = await open({ url: url.href });
    expect(await wrong.ready()).toMatchObject(
      notReady("Postgres refuses DATABASE_URL: password authentication failed"),
    );
    expect(wrong.warned).toEqual([
      expect.stringMatching(/^This service waits: Postgres refuses DATABASE_URL: password/),
    ]);
    expect(JSON.stringify([wrong.warned, await wrong.ready()])).not.toContain("wrong-password");
    const other = new URL(database.directUrl);
    other.pathname = "/nobody_has_it";
    expect((await open({ url: other.href })).warned).toEqual([expect.stringContaining('database "nobody_has_it"')]);
  });

  it("goes on with the schema of a newer release", async () => {
    const later =
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '2999_x', now())";
    await database.pool.query(later);
    expect(await (await open()).ready()).toMatchObject({ status: 200 });
  });

  it("refuses the role of another service, naming a right that it lacks, and takes the service's own", async () => {
    await grantRoles(database.directUrl, passwords, prefix);
    const as = async (service: string, role: keyof typeof passwords) =>
      (await open({ service, url: roleUrl(database.directUrl, role, passwords[role], prefix) })).ready();
    expect(await as("trace-api", "analytics_api")).toMatchObject(notReady("the role may not"));
    for (const [service, role] of [
      ["trace-api", "trace_api"],
      ["analytics-api", "analytics_api"],
      ["collector", "collector"],
      ["worker", "worker"],
      ["dashboard", "dashboard"],
    ] as const)
      expect([service, await as(service, role)]).toMatchObject([service, { status: 200 }]);
  });
});

describeWithProgram("pgbouncer", "openStores behind a pooler in transaction mode", () => {
  it("ends the start with a sentence where nobody said so, or where it forgets prepared statements", async () => {
    const folder = await mkdtemp(join(tmpdir(), "waymark-pooler-"));
    closers.push(() => rm(folder, { recursive: true }));
    await chmod(folder, 0o711);
    const pooler = await startPooler(new URL(database.directUrl), "transaction", join(folder, "pooler"));
    closers.push(() => pooler.stop());
    await expect(open({ url: pooler.url })).rejects.toThrow(/through a pooler (in transaction mode|that forgets)/);
    const stated = () => open({ url: pooler.url, isPooledByTransaction: true });
    const message = await stated().catch((error: Error) => error.message);
    // From 1.21 on only the role's limits are missing.
    if (!String(message).includes("ALTER ROLE")) return expect(message).toContain("pgbouncer 1.21 or newer");
    for (const [statement] of String(message).matchAll(/ALTER ROLE .*;/g)) await database.pool.query(statement);
    const console = new URL(pooler.url);
    console.pathname = "/pgbouncer";
    const admin = new pg.Client({ connectionString: console.href });
    await admin.connect();
    await admin.query("RECONNECT");
    await admin.end();
    const { ready, pool } = await stated();
    expect(await ready()).toMatchObject({ status: 200 });
    expect((await pool.query("SHOW lock_timeout")).rows).toEqual([{ lock_timeout: "1s" }]);
  });
});

describeWithRedis("openStores with Redis", (redisUrl) => {
  it("takes one server, and refuses a cluster with a sentence", async () => {
    await open({ redisUrl });
    const cluster = await startRedisCluster();
    await expect(open({ redisUrl: cluster })).rejects.toThrow("REDIS_URL leads to a Redis Cluster");
  });
});

async function startRedisCluster(): Promise<string> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), "waymark-cluster-"));
  const options = { port, bind: "127.0.0.1", save: "", dir: folder, "cluster-enabled": "yes", "cluster-port": 0 };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server: ChildProcess = spawn("redis-server", args, { stdio: "ignore" });
  closers.push(async () => {
    server.kill("SIGKILL");
    await once(server, "exit");
    await rm(folder, { recursive: true });
  });
  while (!(await accepts(port))) await wait(20);
  return `redis://127.0.0.1:${port}`;
}

describe("openStores with a standby required", () => {
  const name = new URL(database.url).pathname.slice(1);
  const admin = new pg.Pool({ connectionString: database.directUrl, max: 1 });
  const setStandbys = async (names: string) => {
    await admin.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await admin.query("SELECT pg_reload_conf()");
    while ((await admin.query("SHOW synchronous_standby_names")).rows[0].synchronous_standby_names !== names)
      await wait(10);
  };
  afterAll(async () => {
    await setStandbys("");
    await admin.end();
  });

  it("is ready while a standby receives each commit, and says what is missing otherwise", async () => {
    // The tests' server commits without waiting, so these settings hold nobody up.
    await admin.query(`ALTER DATABASE "${name}" SET synchronous_commit = 'local'`);
    const { ready, registry, pool } = await open({ isStandbyRequired: true });
    const error = async () => (await ready()).body["error"];
    expect(await error()).toBe("Not ready: standby (writes are on one machine: synchronous_standby_names is empty)");
    await setStandbys("test_standby");
    expect(await error()).toBe("Not ready: standby (writes are on one machine: synchronous_commit is local)");
    await admin.query(`ALTER DATABASE "${name}" SET synchronous_commit = 'on'`);
    await pool.query("SET synchronous_commit = 'on'");
    expect(await error()).toBe("Not ready: standby (writes wait: no synchronous standby is connected)");
    expect(await registry.metrics()).toContain('waymark_synchronous_standby{service="test"} 0');
    const standby = await startStandby();
    while ((await ready()).status !== 200) await wait(20);
    expect(await registry.metrics()).toContain('waymark_synchronous_standby{service="test"} 1');
    await standby.end();
    while ((await ready()).status === 200) await wait(20);
  });
});

/** A client that receives the log as a standby does, and reports all of it as kept. */
async function startStandby(): Promise<pg.Client> {
  const options = { connectionString: database.directUrl, application_name: "test_standby", replication: "true" };
  const client = new pg.Client(options as pg.ClientConfig);
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query("IDENTIFY_SYSTEM");
  const [high, low] = String(rows[0].xlogpos).split("/");
  const position = (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
  const report = Buffer.alloc(34, 0);
  report.write("r");
  for (const offset of [1, 9, 17]) report.writeBigUInt64BE(position, offset);
  const { connection } = client as unknown as {
    connection: { sendCopyFromChunk(chunk: Buffer): void; once(event: string, then: () => void): void };
  };
  connection.once("replicationStart", () => connection.sendCopyFromChunk(report));
  void client.query(`START_REPLICATION PHYSICAL ${rows[0].xlogpos}`).catch(() => undefined);
  return client;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
