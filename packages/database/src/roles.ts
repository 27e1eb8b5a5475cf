import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type pg from "pg";
import { inTransaction, withClient } from "./transaction.js";

export const serviceRoles = ["trace_api", "analytics_api", "collector", "worker", "dashboard"] as const;
export type ServiceRole = (typeof serviceRoles)[number];
export type RolePasswords = Readonly<Record<ServiceRole, string>>;

export function byRole<T>(make: (role: ServiceRole) => T): Readonly<Record<ServiceRole, T>> {
  return Object.fromEntries(serviceRoles.map((role) => [role, make(role)])) as Record<ServiceRole, T>;
}

const all = "SELECT, INSERT, UPDATE, DELETE";
const write = "SELECT, INSERT, UPDATE";

type TableGrants = Readonly<Record<string, Partial<Record<ServiceRole, string>>>>;

/**
 * The privileges of each service on each table, in the syntax of GRANT; Postgres refuses the rest. Partitions need no line.
 * The worker removes the remains of deleted accounts and sites from every table.
 */
export const tableGrants = {
  // Agent claims lock FOR NO KEY UPDATE and need UPDATE on some column.
  account: {
    trace_api: "SELECT (id, plan, slot, keep, leave_out), UPDATE (created_at, keep, leave_out)",
    analytics_api: "SELECT (id, plan, slot, keep, leave_out)",
    collector: "SELECT (id, plan, slot, keep, leave_out)",
    worker: "SELECT (id, email, plan, keep)",
    dashboard: write,
  },
  agent: { trace_api: all, worker: "SELECT, INSERT, DELETE", dashboard: "SELECT" },
  alert: { trace_api: all, worker: all, dashboard: "SELECT, UPDATE, DELETE" },
  alert_rule: { worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, INSERT, DELETE" },
  alert_settings: { worker: all, dashboard: write },
  alert_summary: { worker: all },
  api_key: {
    trace_api: "SELECT, UPDATE (last_used_at)",
    analytics_api: "SELECT, UPDATE (last_used_at)",
    collector: "SELECT, UPDATE (last_used_at)",
    worker: "SELECT (account_id, id, revoked_at, expires_at), DELETE",
    dashboard: "SELECT, INSERT, UPDATE (name, revoked_at, last_used_at)",
  },
  audit: { worker: "SELECT, DELETE", dashboard: "SELECT, INSERT" },
  backup_record: { worker: "SELECT" },
  challenge: { dashboard: all },
  channel: {
    worker: "SELECT, INSERT, UPDATE (disabled_at, disabled_reason, skipped, reported_until), DELETE",
    dashboard: "SELECT, INSERT, UPDATE (is_confirmed, secret, report, reported_until), DELETE",
  },
  credential: { dashboard: write },
  daily_event: { analytics_api: "SELECT", collector: write, worker: "SELECT, DELETE", dashboard: "SELECT" },
  daily_size: { analytics_api: "SELECT", dashboard: "SELECT", collector: write, worker: "SELECT, DELETE" },
  daily_stat: { analytics_api: "SELECT", collector: write, worker: "SELECT, DELETE", dashboard: "SELECT" },
  daily_visitor: { collector: write, worker: "SELECT, DELETE" },
  daily_visitor_default: { worker: "SELECT" },
  day_part: { analytics_api: "SELECT", worker: "SELECT, INSERT, DELETE", dashboard: "SELECT" },
  deleted_site: { worker: "SELECT, DELETE", dashboard: "INSERT" },
  delivery: { worker: all, dashboard: "SELECT, INSERT, DELETE" },
  // Here and below the worker removes rows under FOR UPDATE, and Postgres then requires UPDATE.
  deleted_otel_trace: { trace_api: write, worker: "SELECT, UPDATE, DELETE", dashboard: write },
  dropped_name: { trace_api: "SELECT", worker: all, dashboard: "SELECT" },
  event: { analytics_api: "SELECT", collector: "SELECT, INSERT", worker: "SELECT, DELETE", dashboard: "SELECT" },
  // Retention deletes rows of months without a partition.
  event_default: { worker: "SELECT, DELETE" },
  event_horizon: { analytics_api: "SELECT", collector: "SELECT", worker: "SELECT, UPDATE (day)", dashboard: "SELECT" },
  failing_agent: { worker: all },
  // Whoever lists failures groups new ones first.
  failure: { trace_api: write, worker: all, dashboard: write },
  followed_log: { worker: "SELECT, DELETE" },
  funnel: { analytics_api: "SELECT", worker: "SELECT, DELETE", dashboard: all },
  funnel_step: { analytics_api: "SELECT", worker: "SELECT, DELETE", dashboard: "SELECT, INSERT, DELETE" },
  goal: { analytics_api: "SELECT", worker: "SELECT, DELETE", dashboard: all },
  idempotency_key: { trace_api: "SELECT, INSERT", worker: "SELECT, UPDATE, DELETE" },
  imported_day: { analytics_api: "SELECT", worker: "SELECT, DELETE", dashboard: "SELECT" },
  machine_day: { analytics_api: "SELECT", collector: write, worker: "SELECT, DELETE", dashboard: "SELECT" },
  machine_line: { collector: "SELECT, INSERT", worker: "SELECT, DELETE" },
  machine_list: { analytics_api: "SELECT", collector: "SELECT", dashboard: "SELECT" },
  machine_total: { analytics_api: "SELECT", collector: write, worker: "SELECT, DELETE", dashboard: "SELECT" },
  // Postgres removes the person of a removed membership with the rights of the remover.
  membership: { worker: "SELECT, DELETE", dashboard: "SELECT, INSERT, UPDATE (role, by_provider), DELETE" },
  mute: { trace_api: "SELECT", worker: "SELECT, UPDATE, DELETE", dashboard: all },
  // Whoever reads sums settles the calls of the account first.
  model_call: { trace_api: all, worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, UPDATE, DELETE" },
  model_day: { trace_api: write, worker: all, dashboard: write },
  one_time_link: { worker: "SELECT, DELETE", dashboard: "SELECT, INSERT, UPDATE (used_at), DELETE" },
  passkey: { dashboard: all },
  pending_span: { trace_api: all, worker: "SELECT, DELETE" },
  person: { worker: "SELECT (id), DELETE", dashboard: all },
  rate_limit: { analytics_api: write, worker: "SELECT, DELETE", dashboard: write },
  saved_view: { worker: "SELECT, DELETE", dashboard: all },
  score: { trace_api: "SELECT, INSERT, DELETE", worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, INSERT, DELETE" },
  session: { worker: "SELECT, DELETE", dashboard: all },
  site: {
    trace_api: "SELECT (account_id, costs_until)",
    analytics_api: "SELECT",
    collector: "SELECT",
    worker: "SELECT, UPDATE (costs_until)",
    dashboard: all,
  },
  // The trigger that releases a domain runs with the rights of who deletes the site.
  site_domain: { collector: "SELECT", worker: "SELECT, DELETE", dashboard: all },
  span_default: {},
  span_partition: { worker: "SELECT" },
  slot_move: { trace_api: "SELECT", analytics_api: "SELECT", collector: "SELECT", dashboard: "SELECT" },
  span: { trace_api: all, worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, DELETE" },
  // Deleting a trace removes its log records; whoever stores more of them locks none.
  span_log: { trace_api: all, worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, DELETE" },
  stripe_event: { worker: "SELECT, DELETE", dashboard: "SELECT, INSERT" },
  totp: { dashboard: all },
  // Deletions lock FOR UPDATE.
  trace: { trace_api: all, worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, UPDATE (written_at), DELETE" },
  trace_block: { trace_api: "SELECT", worker: all, dashboard: "SELECT" },
  // A trigger notes the changes of whoever updates a trace.
  trace_change: { trace_api: write, worker: all, dashboard: "SELECT" },
  trace_context: { trace_api: "SELECT, INSERT, DELETE", worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, DELETE" },
  trace_failure: { trace_api: all, worker: all, dashboard: all },
  trace_usage: { trace_api: write, worker: all, dashboard: write },
  trace_visit: { trace_api: "SELECT, INSERT, DELETE", worker: "SELECT, UPDATE, DELETE", dashboard: "SELECT, DELETE" },
  visit: { analytics_api: "SELECT", collector: all, worker: "SELECT, DELETE", dashboard: "SELECT" },
  visit_cost: { analytics_api: "SELECT", worker: "SELECT, INSERT, DELETE", dashboard: "SELECT" },
  visitor_partition: { worker: "SELECT" },
  visitor_salt: { collector: write, worker: "SELECT, DELETE" },
  _prisma_migrations: byRole(() => "SELECT"),
} as const satisfies TableGrants;

/** Functions creating and dropping tables with the owner's rights, and the services allowed to call them. */
export const functionGrants = {
  "ensure_event_partition(date)": ["collector", "worker"],
  "drop_event_partition(text)": ["worker"],
  "ensure_span_partition(date)": ["worker"],
  "drop_span_partition(text)": ["worker"],
  "ensure_visitor_partition(date)": ["worker"],
  "drop_visitor_partition(text)": ["worker"],
  "empty_old_visitors(date)": ["worker"],
  // Of triggers: it reads the account of a row that a service may not.
  "refuse_moving()": [],
} as const satisfies Record<string, readonly ServiceRole[]>;

/** Users of BullMQ's tables in Postgres. Its functions make temporary tables. */
const queueUsers = ["trace_api", "worker"] as const satisfies readonly ServiceRole[];

export const queueSchema = "bullmq";

export const rolePasswordVariables = {
  trace_api: "TRACE_API_DB_PASSWORD",
  analytics_api: "ANALYTICS_API_DB_PASSWORD",
  collector: "COLLECTOR_DB_PASSWORD",
  worker: "WORKER_DB_PASSWORD",
  dashboard: "DASHBOARD_DB_PASSWORD",
} as const satisfies Record<ServiceRole, string>;

export class RolePasswordError extends Error {
  override name = "RolePasswordError";
}

/** @returns undefined if the environment names none: roles stay. @throws RolePasswordError naming wrong variables */
export function readRolePasswords(env: Readonly<Record<string, string | undefined>>): RolePasswords | undefined {
  if (!serviceRoles.some((role) => env[rolePasswordVariables[role]])) return undefined;
  const wrong = serviceRoles.map((role) => rolePasswordVariables[role]).filter((name) => !isPassword(env[name] ?? ""));
  if (wrong.length > 0) {
    throw new RolePasswordError(
      `Set ${wrong.join(", ")} to a password of 12 to 200 letters, digits or signs of ASCII, or none of the roles' passwords.`,
    );
  }
  return byRole((role) => env[rolePasswordVariables[role]] ?? "");
}

/** SASLprep does not change ASCII. */
function isPassword(text: string): boolean {
  return /^[\x21-\x7e]{12,200}$/.test(text);
}

export function roleUrl(connectionString: string, role: ServiceRole, password: string, prefix = "waymark"): string {
  const url = new URL(connectionString);
  url.username = `${prefix}_${role}`;
  // The setter does not escape `%`.
  url.password = encodeURIComponent(password);
  return url.href;
}

/** Makes the roles with exactly these privileges, in one transaction, as the tables' owner. Repeat it after migrations. */
export function grantRoles(connectionString: string, passwords: RolePasswords, prefix = "waymark"): Promise<void> {
  return withClient(connectionString, "migrate", (client) =>
    inTransaction(client, async () => {
      // A concurrent grant would update the same catalogue rows and fail.
      await client.query("SELECT pg_advisory_xact_lock(hashtext('waymark roles'))");
      for (const role of serviceRoles) await makeRole(client, `${prefix}_${role}`, passwords[role]);
      await closePublic(client);
      for (const role of serviceRoles) await grantRole(client, role, `${prefix}_${role}`);
    }),
  );
}

async function makeRole(client: pg.Client, name: string, password: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [name]);
  const role = client.escapeIdentifier(name);
  if (rowCount === 0) await client.query(`CREATE ROLE ${role}`);
  // Sends a hash of the password, because servers may log statements.
  await client.query(`ALTER ROLE ${role} LOGIN PASSWORD ${client.escapeLiteral(scramVerifier(password))}`);
}

/** Revokes defaults unneeded by services: creating tables, and calling the functions above. */
async function closePublic(client: pg.Client): Promise<void> {
  await client.query("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
  await client.query(`REVOKE TEMPORARY ON DATABASE ${await databaseOf(client)} FROM PUBLIC`);
  for (const name of Object.keys(functionGrants)) {
    await client.query(`ALTER FUNCTION public.${name} SECURITY DEFINER SET search_path = public, pg_temp`);
    await client.query(`REVOKE EXECUTE ON FUNCTION public.${name} FROM PUBLIC`);
  }
}

async function databaseOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>("SELECT current_database() AS name");
  return client.escapeIdentifier(rows[0]?.name ?? "");
}

/** Lists the tables of this database with any privilege of a role, also one of an older version. */
const heldSql = `
  SELECT DISTINCT format('%I.%I', nspname, relname) AS name
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE relkind IN ('r', 'p', 'v', 'm') AND EXISTS (
    SELECT FROM aclexplode(relacl) WHERE grantee = $1::regrole
    UNION ALL
    SELECT FROM pg_attribute, aclexplode(attacl) WHERE attrelid = pg_class.oid AND grantee = $1::regrole)`;

async function grantRole(client: pg.Client, role: ServiceRole, name: string): Promise<void> {
  const to = client.escapeIdentifier(name);
  const { rows } = await client.query<{ name: string }>(heldSql, [to]);
  for (const held of rows) await client.query(`REVOKE ALL ON ${held.name} FROM ${to}`);
  const database = await databaseOf(client);
  await client.query(`GRANT CONNECT ON DATABASE ${database} TO ${to}`);
  await client.query(`GRANT USAGE ON SCHEMA public TO ${to}`);
  for (const [table, privileges] of Object.entries<Partial<Record<ServiceRole, string>>>(tableGrants)) {
    if (privileges[role]) await client.query(`GRANT ${privileges[role]} ON public.${table} TO ${to}`);
  }
  for (const [name, roles] of Object.entries<readonly ServiceRole[]>(functionGrants)) {
    const change = roles.includes(role) ? `GRANT EXECUTE ON FUNCTION public.${name} TO` : undefined;
    await client.query(`${change ?? `REVOKE EXECUTE ON FUNCTION public.${name} FROM`} ${to}`);
  }
  if ((queueUsers as readonly ServiceRole[]).includes(role)) await grantQueue(client, database, to);
}

async function grantQueue(client: pg.Client, database: string, to: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_namespace WHERE nspname = $1", [queueSchema]);
  if (rowCount === 0) return;
  await client.query(`GRANT TEMPORARY ON DATABASE ${database} TO ${to}`);
  await client.query(`GRANT USAGE ON SCHEMA ${queueSchema} TO ${to}`);
  await client.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${queueSchema} TO ${to}`);
  await client.query(`GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${queueSchema} TO ${to}`);
}

/** Hashes a password as Postgres stores and accepts it (RFC 5803; `SCRAM-SHA-256` of RFC 7677). */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const iterations = 4_096;
  const salted = pbkdf2Sync(password, salt, iterations, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${iterations}:${salt.toString("base64")}$${storedKey}:${hmac("Server Key").toString("base64")}`;
}
