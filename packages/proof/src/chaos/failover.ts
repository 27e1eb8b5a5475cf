import { spawnSync } from "node:child_process";
import { appendFile, chown, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@waymark/local";
import pg from "pg";
import { postmasterOf, type System } from "../system/start-system.js";
import type { Fault } from "./fault.js";

/** The last fault of a run: from then on the former primary is of no use. */
export const failover: Fault = {
  name: "fail over",
  what: "kill -9 of Postgres; its synchronous standby becomes the primary",
  run: async ({ system, undo, seconds }) => {
    const standby = await startStandby(system);
    undo(() => standby.stop());
    await wait((seconds / 2) * 1_000);
    system.postgresWire.refuse(true);
    process.kill(await postmasterOf(system), "SIGKILL");
    const client = new pg.Client({ connectionString: standby.connectionString });
    await client.connect();
    await client.query("SELECT pg_promote()");
    await client.end();
    system.leadTo(standby.port);
    system.postgresWire.refuse(false);
  },
};

const syncLimitMs = 60_000;

/**
 * Copies the running Postgres and starts the copy as its synchronous standby: a commit then counts once both have it.
 * @throws Error if the standby does not follow within a minute
 */
async function startStandby({ folder, pool, postgres }: System): Promise<EmbeddedPostgres> {
  const standby = join(folder, "standby");
  await copyServer(pool, join(folder, "postgres"), standby);
  const data = join(standby, "data");
  const url = new URL(postgres.connectionString);
  const primary = `host=127.0.0.1 port=${url.port} user=${url.username} password=${url.password} application_name=standby`;
  await appendFile(join(data, "postgresql.auto.conf"), `primary_conninfo = '${primary}'\n`);
  const owner = await stat(join(data, "PG_VERSION"));
  await writeFile(join(data, "standby.signal"), "");
  for (const name of ["standby.signal", "backup_label"]) await chown(join(data, name), owner.uid, owner.gid);
  const started = await startEmbeddedPostgres({ folder: standby });
  await pool.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
  await pool.query("SELECT pg_reload_conf()");
  for (const until = Date.now() + syncLimitMs; ; await wait(50)) {
    const { rowCount } = await pool.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'");
    if (rowCount === 1) return started;
    if (Date.now() > until) throw new Error("The standby did not follow within a minute");
  }
}

/** As in "Making a Base Backup Using the Low Level API" of Postgres's documentation. */
async function copyServer(pool: System["pool"], from: string, to: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("SELECT pg_backup_start('standby', true)");
    // Files may vanish while it copies; the log has what they held.
    spawnSync("cp", ["-a", from, to]);
    const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)");
    const data = join(to, "data");
    await writeFile(join(data, "backup_label"), rows[0]?.labelfile ?? "");
    for (const name of ["postmaster.pid", "postmaster.opts"]) await rm(join(data, name), { force: true });
    await rm(join(to, "port"), { force: true });
    for (const name of await readdir(join(data, "pg_wal"))) {
      if (/^[0-9A-F]{24}/.test(name)) await rm(join(data, "pg_wal", name));
    }
    await mkdir(join(data, "pg_wal", "archive_status"), { recursive: true });
  } finally {
    client.release();
  }
}
