import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { findSchemaProblem, rolePasswordVariables } from "@waymark/database";
import type pg from "pg";
import { formatBytes, formatCount, formatDuration, inWords } from "../output/terminal-text.js";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import type { Installation } from "./installation.js";

const serviceRoles = Object.keys(rolePasswordVariables);

const oldestServer = 150_000;
const maxClockMs = 5_000;
const maxConnectionsShare = 0.8;
const leastFreeShare = 0.1;
/** Autovacuum begins to freeze at 200 million; Postgres stops writes near 2,000 million. */
const maxTransactionAge = 1_000_000_000;
const maxTransactionHours = 1;
const maxMailMinutes = 10;

/** What the database tells an operator, by its catalogue and small probes. */
export const databaseChecks: readonly Check<Installation>[] = [
  { name: "database", look: asked(checkServer, (problem) => wrong(problem, "Without it nothing else can be told.")) },
  { name: "schema", look: asked(checkSchema) },
  { name: "roles", look: asked(checkRoles) },
  { name: "durability", look: asked(checkDurability) },
  { name: "clock", look: asked(checkClock) },
  { name: "versions", look: asked(checkVersions) },
  { name: "connections", look: asked(checkConnections) },
  { name: "disk", look: asked(checkDisk) },
  { name: "vacuum", look: asked(checkVacuum) },
  { name: "mails", look: asked(checkMails) },
];

type Look = (pool: pg.Pool, installation: Installation) => Promise<Verdict>;

/** A check that needs the database; one that fails says why. */
function asked(look: Look, withoutDatabase = (_problem: string) => unknown("The database gives no answer.")) {
  return async (installation: Installation): Promise<Verdict> => {
    const { database } = installation;
    if (typeof database === "string") return withoutDatabase(database);
    return look(database, installation).catch((error: Error) => unknown(`It could not be asked: ${error.message}.`));
  };
}

async function one<Row extends object>(pool: pg.Pool, sql: string): Promise<Row> {
  const { rows } = await pool.query<Row>(sql);
  const [row] = rows;
  if (!row) throw new Error("no row");
  return row;
}

const serverSql =
  "SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS num";

async function checkServer(pool: pg.Pool): Promise<Verdict> {
  const { version, num } = await one<{ version: string; num: number }>(pool, serverSql);
  if (num >= oldestServer) return good(`Postgres ${version} answers.`);
  return wrong(`It is Postgres ${version}; Waymark needs 15 or newer.`, "Dump it, and restore into a newer server.");
}

async function checkSchema(pool: pg.Pool): Promise<Verdict> {
  const problem = await findSchemaProblem(pool, "doctor");
  return problem
    ? wrong(`${problem[0]?.toUpperCase()}${problem.slice(1)}.`, "Services wait for it.")
    : good("It has all migrations.");
}

const rolesSql = "SELECT rolname AS name FROM pg_roles WHERE rolname = ANY($1)";

async function checkRoles(pool: pg.Pool): Promise<Verdict> {
  const names = serviceRoles.map((role) => `waymark_${role}`);
  const { rows } = await pool.query<{ name: string }>(rolesSql, [names]);
  const cure = `Run 'waymark migrate' with ${Object.values(rolePasswordVariables).join(", ")}.`;
  if (rows.length === 0) return unknown(`Services have no roles of their own: each can do all. ${cure}`);
  const missing = names.filter((name) => !rows.some((row) => row.name === name));
  if (missing.length > 0) return wrong(`${missing.join(", ")} ${missing.length > 1 ? "are" : "is"} missing.`, cure);
  for (const [index, role] of serviceRoles.entries()) {
    const problem = await findSchemaProblem(pool, role, names[index]);
    if (problem) return wrong(`${names[index]}: ${problem}.`, cure);
  }
  return good("Each service's role has its rights.");
}

const durabilitySql = `
  SELECT name FROM pg_settings
  WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name`;

async function checkDurability(pool: pg.Pool): Promise<Verdict> {
  const { rows } = await pool.query<{ name: string }>(durabilitySql);
  if (rows.length === 0) return good("A commit is on the disk before its answer.");
  const names = rows.map(({ name }) => name).join(", ");
  return wrong(`${names} off: a crash loses what was answered with 201.`, `Set ${names} = on in postgresql.conf.`);
}

async function checkClock(pool: pg.Pool, { now }: Installation): Promise<Verdict> {
  const asked = now().getTime();
  const { at } = await one<{ at: Date }>(pool, "SELECT clock_timestamp() AS at");
  const [before, after] = [asked - at.getTime(), now().getTime() - at.getTime()];
  const aheadMs = before > 0 ? before : Math.min(after, 0);
  if (Math.abs(aheadMs) <= maxClockMs) return good("This machine agrees with the database's.");
  const length = formatDuration(Math.abs(aheadMs) * 1_000);
  const side = aheadMs > 0 ? "ahead of" : "behind";
  return wrong(
    `This machine's clock is ${length} ${side} the database's: days and limits differ.`,
    "Let NTP set both.",
  );
}

/** Pools name the service and its release; a pooler passes that on. */
const versionsSql = `
  SELECT split_part(application_name, ' ', 2) AS service, split_part(application_name, ' ', 3) AS release
  FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ '^waymark [a-z-]+ [0-9]+[.]'
  GROUP BY 1, 2 ORDER BY 2, 1`;

async function checkVersions(pool: pg.Pool): Promise<Verdict> {
  const { rows } = await pool.query<{ service: string; release: string }>(versionsSql);
  if (rows.length === 0) return unknown("No service is connected to the database.");
  const releases = [...new Set(rows.map(({ release }) => release))];
  const told = releases.map((release) => {
    const services = rows.filter((row) => row.release === release).map(({ service }) => service);
    return `${release} (${services.join(", ")})`;
  });
  if (releases.length > 1)
    return wrong(`Services run several releases: ${told.join(", ")}.`, "Upgrade those left behind: docker/upgrade.sh.");
  if (!rows.some(({ service }) => service === "worker"))
    return wrong("No worker is connected: nobody sends alerts, nothing old is deleted.", "Start it, or read its log.");
  return good(`All run ${told.join()}.`);
}

const connectionsSql = `
  SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS used,
    (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int) AS most`;

async function checkConnections(pool: pg.Pool): Promise<Verdict> {
  const { used, most } = await one<{ used: number; most: number }>(pool, connectionsSql);
  const says = `${used} of ${most} connections are open.`;
  if (used < most * maxConnectionsShare) return good(says);
  return wrong(says, "Lower DATABASE_POOL_SIZE, put pgbouncer in front, or raise max_connections.");
}

/**
 * Partitions count with their table. Growth is the rows that Postgres has counted since it began to count, by their mean size.
 * Reads sizes of files.
 */
const sizesSql = `
  SELECT COALESCE(parent.relname, own.relname) AS name, sum(pg_total_relation_size(own.oid))::float8 AS bytes,
    sum(pg_total_relation_size(own.oid) * (n_tup_ins - n_tup_del) / greatest(n_live_tup, 100)::float8 / $1) AS a_day
  FROM pg_class AS own JOIN pg_stat_user_tables AS counted ON counted.relid = own.oid
    LEFT JOIN pg_inherits ON inhrelid = own.oid LEFT JOIN pg_class AS parent ON parent.oid = inhparent
  WHERE own.relkind = 'r' AND own.relnamespace = 'public'::regnamespace
  GROUP BY 1 ORDER BY 2 DESC`;

const leastDaysCounted = 1;
const mostDaysToFull = 30;

/** The largest tables, and what all grow by; undefined in an installation's first day. */
async function readTables(pool: pg.Pool, days: number) {
  const { rows } = await pool.query<{ name: string; bytes: number; a_day: number }>(sizesSql, [Math.max(days, 0.001)]);
  const isCounted = days >= leastDaysCounted;
  const grows = (bytes: number) => (isCounted && bytes > 0 ? `, ${formatBytes(bytes)} more a day` : "");
  const [top, growing] = [rows.slice(0, 3), rows.reduce((sum, table) => sum + Math.max(table.a_day, 0), 0)];
  const text = top.map((table) => `${table.name} ${formatBytes(table.bytes)}${grows(table.a_day)}`).join("; ");
  return { text, bytesADay: isCounted && growing > 0 ? growing : undefined };
}

/** A sum over the accounts' rows of one month. Counting began with the installation, or at a crash. */
const diskSql = `
  SELECT pg_database_size(current_database())::float8 AS bytes,
    (SELECT COALESCE(sum(bytes), 0) FROM trace_usage WHERE month = date_trunc('month', now() AT TIME ZONE 'UTC'))::float8 AS month,
    current_setting('data_directory', true) AS folder,
    (SELECT extract(epoch FROM now() - greatest(stats_reset, (SELECT min(started_at) FROM _prisma_migrations))) / 86400
      FROM pg_stat_database WHERE datname = current_database())::float8 AS days`;

interface Disk {
  bytes: number;
  month: number;
  folder: string | null;
  days: number;
}

async function checkDisk(pool: pg.Pool): Promise<Verdict> {
  const { bytes, month, folder, days } = await one<Disk>(pool, diskSql);
  const { text, bytesADay } = await readTables(pool, days);
  const says = `${formatBytes(bytes)} in all (${text}); spans of ${formatBytes(month)} came this month.`;
  if (!folder || !existsSync(folder)) return good(says);
  const { bavail, blocks, bsize } = await statfs(folder);
  const free = `${formatBytes(bavail * bsize)} of the disk are free.`;
  const cure = "Enlarge the disk, or shorten retention: Postgres stops when it is full.";
  const daysLeft = bytesADay && (bavail * bsize) / bytesADay;
  if (daysLeft !== undefined && daysLeft < mostDaysToFull)
    return wrong(`The disk is full in ${Math.floor(daysLeft)} days at the present growth. ${free} ${says}`, cure);
  return bavail >= blocks * leastFreeShare ? good(`${says} ${free}`) : wrong(`${free} ${says}`, cure);
}

const vacuumSql = `
  SELECT age(datfrozenxid) AS age,
    (SELECT COALESCE(max(extract(epoch FROM now() - xact_start)), 0) FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend')::float8 AS seconds
  FROM pg_database WHERE datname = current_database()`;

async function checkVacuum(pool: pg.Pool): Promise<Verdict> {
  const { age, seconds } = await one<{ age: number; seconds: number }>(pool, vacuumSql);
  if (age > maxTransactionAge)
    return wrong(
      `${formatCount(age)} transactions wait for vacuum; Postgres refuses writes at 2,000 million.`,
      "Look for old transactions and prepared ones, then run VACUUM FREEZE.",
    );
  if (seconds > maxTransactionHours * 3_600)
    return wrong(
      `A transaction has been open for ${formatDuration(seconds * 1_000_000)}: deleted rows keep their space.`,
      "Find it in pg_stat_activity, and end its program.",
    );
  return good("Autovacuum keeps up.");
}

/** Deliveries long due, by `delivery_turn_idx`, which has unsent ones alone. */
const lateSql = `
  SELECT count(*)::int AS late, max(last_error) AS error FROM delivery
  WHERE sent_at IS NULL AND failed_at IS NULL AND NOT is_collecting AND due_at < now() - interval '${maxMailMinutes} minutes'`;

async function checkMails(pool: pg.Pool): Promise<Verdict> {
  const { late, error } = await one<{ late: number; error: string | null }>(pool, lateSql);
  if (late === 0) return good(`Nothing has waited for over ${maxMailMinutes} minutes.`);
  const says = `Waiting for over ${maxMailMinutes} minutes: ${inWords(late, "alert")}${error ? `; ${error}` : ""}.`;
  return wrong(says, "Look whether a worker runs, at its log, and at the mail provider.");
}
