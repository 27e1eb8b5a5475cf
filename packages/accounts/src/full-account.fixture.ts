import { randomUUID } from "node:crypto";
import type pg from "pg";

type Owner = "account_id" | "site_id";

interface Column {
  table: string;
  column: string;
  type: string;
  isRequired: boolean;
}

/** Values for columns with a check; a new table may need a line here. */
const special: Record<string, string> = {
  "account.plan": "'pro'",
  "agent.is_provisional": "false",
  "alert.status": "'error'",
  "alert_rule.agent_id": "'a'",
  "alert_rule.above_percent": "20",
  "alert_rule.of_traces": "1",
  "alert_rule.within_seconds": "60",
  "api_key.account_id": "(SELECT id FROM account ORDER BY created_at DESC LIMIT 1)",
  "api_key.service": "'trace'",
  "api_key.service by site_id": "'share'",
  "api_key.scope": "'ingest'",
  "api_key.scope by site_id": "'all'",
  "api_key.hash": "sha256(gen_random_uuid()::text::bytea)",
  "alert_settings.mode": "'each'",
  "channel.kind": "'mail'",
  "channel.address": "'a@example.com'",
  "deleted_otel_trace.otel_trace_id": "uuid_send(gen_random_uuid())",
  "event.type": "'pageview'",
  "event.channel": "'Direct'",
  // The tables are in the order of their migrations.
  "funnel_step.funnel_id": "(SELECT id FROM funnel ORDER BY created_at DESC LIMIT 1)",
  "funnel_step.goal_id": "(SELECT id FROM goal ORDER BY created_at DESC LIMIT 1)",
  "goal.page": "'/'",
  "idempotency_key.request_hash": "sha256('x')",
  "membership.person_id": "(SELECT id FROM person ORDER BY created_at DESC LIMIT 1)",
  "membership.role": "'owner'",
  "one_time_link.hash": "sha256(gen_random_uuid()::text::bytea)",
  "one_time_link.purpose": "'invite'",
  "score.kind": "'text'",
  "session.person_id": "(SELECT id FROM person ORDER BY created_at DESC LIMIT 1)",
  "span.status": "'ok'",
  "trace.status": "'error'",
};

const byType: Record<string, string> = {
  uuid: "gen_random_uuid()",
  text: "gen_random_uuid()::text",
  integer: "1",
  bigint: "1",
  numeric: "1",
  boolean: "true",
  bytea: "'x'",
  json: "'{}'",
  date: "current_date",
  "timestamp with time zone": "now()",
  ARRAY: "'{}'",
};

/** The columns of all tables with an owner, read from the database, so new tables are included. */
async function columnsOf(pool: pg.Pool, owner: Owner): Promise<Map<string, Column[]>> {
  const { rows } = await pool.query<Column>(
    `SELECT table_name AS table, column_name AS column, data_type AS type,
       is_nullable = 'NO' AND column_default IS NULL AS "isRequired"
     FROM information_schema.columns c
     WHERE table_schema = 'public' AND NOT (SELECT relispartition FROM pg_class WHERE oid = to_regclass(table_name))
       AND EXISTS (SELECT FROM information_schema.columns o
         WHERE o.table_schema = 'public' AND o.table_name = c.table_name AND o.column_name = $1)
     ORDER BY to_regclass(table_name)::oid`,
    [owner],
  );
  const columns = new Map<string, Column[]>();
  for (const row of rows) columns.set(row.table, [...(columns.get(row.table) ?? []), row]);
  return columns;
}

export async function fill(pool: pg.Pool, owner: Owner, id: string): Promise<void> {
  for (const [table, columns] of await columnsOf(pool, owner)) {
    if (table === "site") continue;
    const required = columns.filter(
      ({ column, isRequired }) => (isRequired || special[`${table}.${column}`]) && column !== owner,
    );
    const values = required.map(
      ({ column, type }) =>
        special[`${table}.${column} by ${owner}`] ?? special[`${table}.${column}`] ?? byType[type] ?? "NULL",
    );
    const names = [owner, ...required.map(({ column }) => column)].map((name) => `"${name}"`);
    await pool.query(`INSERT INTO "${table}" (${names}) VALUES (${[`'${id}'`, ...values]})`);
  }
}

export async function countRows(pool: pg.Pool, owner: Owner, id: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of (await columnsOf(pool, owner)).keys()) {
    const { rows } = await pool.query(`SELECT count(*)::int AS n FROM "${table}" WHERE ${owner} = $1`, [id]);
    counts[table] = rows[0].n;
  }
  return counts;
}

/** The sum of counts. */
export const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** An account with a site, and a row in every table with accounts or sites. */
export async function makeFullAccount(pool: pg.Pool, { slot = "00", domain = "example.com" } = {}) {
  const [accountId, siteId] = [randomUUID(), randomUUID()];
  await pool.query("INSERT INTO account (id, email, plan, slot) VALUES ($1, $2, 'pro', $3)", [
    accountId,
    `${accountId}@example.com`,
    slot,
  ]);
  await pool.query("INSERT INTO person (id, email, name) VALUES ($1, $2, 'Ada')", [
    accountId,
    `${accountId}@example.com`,
  ]);
  await pool.query(
    "INSERT INTO credential (id, person_id, provider, subject) VALUES (gen_random_uuid(), $1::uuid, 'credential', $1::text)",
    [accountId],
  );
  await pool.query(
    "INSERT INTO passkey (id, person_id, name, public_key, counter) VALUES ($1::text, $1::uuid, 'n', 'x', 0)",
    [accountId],
  );
  await pool.query("INSERT INTO totp (person_id, secret) VALUES ($1, 'x')", [accountId]);
  await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 's')", [
    siteId,
    accountId,
    domain,
  ]);
  await fill(pool, "account_id", accountId);
  await fill(pool, "site_id", siteId);
  return { accountId, siteId };
}
