import { beforeAll, describe, expect, it } from "@jest/globals";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import pg from "pg";
import { findSchemaProblem } from "./migrate.js";
import {
  byRole,
  functionGrants,
  grantRoles,
  RolePasswordError,
  readRolePasswords,
  rolePasswordVariables,
  roleUrl,
  type ServiceRole,
  serviceRoles,
  tableGrants,
} from "./roles.js";

const database = useDatabase();

const prefix = useRolePrefix();
const passwords = byRole((role) => `password/of:${role}@x`);
const grant = () => grantRoles(database.url, passwords, prefix);
const urlOf = (role: ServiceRole) => roleUrl(database.url, role, passwords[role], prefix);

beforeAll(grant);

async function as(role: ServiceRole, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: urlOf(role) });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Every privilege of our roles on a table or on some of its columns, as `table role PRIVILEGE` or with `(column)`. */
async function readPrivileges(): Promise<string[]> {
  const { rows } = await database.pool.query<{ line: string }>(
    `SELECT format('%s %s %s', relname, substr(rolname, length($1) + 2), privilege_type) AS line
     FROM pg_class, aclexplode(relacl) JOIN pg_roles ON pg_roles.oid = grantee
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'S') AND starts_with(rolname, $1)
     UNION ALL
     SELECT format('%s %s %s (%s)', relname, substr(rolname, length($1) + 2), privilege_type, attname)
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid, aclexplode(attacl)
     JOIN pg_roles ON pg_roles.oid = grantee
     WHERE relnamespace = 'public'::regnamespace AND starts_with(rolname, $1)`,
    [prefix],
  );
  return rows.map(({ line }) => line).sort();
}

function listPrivileges(): string[] {
  const lines = Object.entries(tableGrants).flatMap(([table, byRole]) =>
    Object.entries<string>(byRole).flatMap(([role, privileges]) =>
      [...privileges.matchAll(/([A-Z]+)(?: \(([^)]*)\))?/g)].flatMap(([, privilege, columns]) =>
        columns === undefined
          ? [`${table} ${role} ${privilege}`]
          : columns.split(", ").map((column) => `${table} ${role} ${privilege} (${column})`),
      ),
    ),
  );
  return lines.sort();
}

describe("the services' roles", () => {
  it("have exactly the privileges that are listed, and every table has a line there", async () => {
    expect(await readPrivileges()).toEqual(listPrivileges());
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
       AND relname !~ '^(event|span|daily_visitor)_[0-9]{6,8}$'`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.keys(tableGrants).sort());
  });

  it("lose what the list does not have, and keep all of it when granted again", async () => {
    const role = `${prefix}_collector`;
    await database.pool.query(
      `GRANT SELECT ON trace TO ${role}; GRANT UPDATE (email), SELECT (email) ON account TO ${role}`,
    );
    expect(await readPrivileges()).not.toEqual(listPrivileges());
    await Promise.all([grant(), grant()]);
    expect(await readPrivileges()).toEqual(listPrivileges());
  });

  it("are refused what other services do", async () => {
    await expect(as("collector", "SELECT FROM trace")).rejects.toThrow("permission denied for table trace");
    await expect(as("collector", "UPDATE api_key SET revoked_at = NULL")).rejects.toThrow("permission denied");
    await expect(as("analytics_api", "DELETE FROM event")).rejects.toThrow("permission denied for table event");
    await expect(as("analytics_api", "UPDATE api_key SET revoked_at = NULL")).rejects.toThrow("permission denied");
    await expect(as("analytics_api", "SELECT email FROM account")).rejects.toThrow("permission denied");
    await expect(as("trace_api", "SELECT FROM event")).rejects.toThrow("permission denied for table event");
    await expect(as("trace_api", "UPDATE account SET plan = 'pro'")).rejects.toThrow("permission denied");
    await expect(as("worker", "INSERT INTO event SELECT * FROM event")).rejects.toThrow("permission denied");
    await expect(as("dashboard", "INSERT INTO trace SELECT * FROM trace")).rejects.toThrow("permission denied");
    await expect(as("dashboard", "DELETE FROM account")).rejects.toThrow("permission denied");
    await expect(as("worker", "SELECT hash FROM api_key")).rejects.toThrow("permission denied");
    await expect(as("worker", "SELECT FROM account FOR NO KEY UPDATE")).rejects.toThrow("permission denied");
  });

  it.each(serviceRoles)("%s makes no table, and none of its tables is its own", async (role) => {
    await expect(as(role, "CREATE TABLE public.mine (id int)")).rejects.toThrow("permission denied for schema public");
    await expect(as(role, "CREATE SCHEMA mine")).rejects.toThrow("permission denied for database");
    await expect(as(role, "DROP TABLE event_default")).rejects.toThrow("must be owner");
    await expect(as(role, "ALTER TABLE site ADD COLUMN x int")).rejects.toThrow("must be owner");
    const { rows } = await as(
      role,
      "SELECT rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname = current_user",
    );
    expect(rows).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: false }]);
  });

  it("run the functions that change tables only where they are listed", async () => {
    const month = "SELECT ensure_event_partition('2001-02-01')";
    await expect(as("trace_api", month)).rejects.toThrow("permission denied for function");
    await expect(as("analytics_api", month)).rejects.toThrow("permission denied for function");
    expect((await as("collector", month)).rows).toEqual([{ ensure_event_partition: true }]);
    await expect(as("collector", "SELECT drop_event_partition('event_200102')")).rejects.toThrow("permission denied");
    await expect(as("worker", "SELECT drop_event_partition('event_default')")).rejects.toThrow("is not the partition");
    await expect(as("worker", "SELECT drop_event_partition('account')")).rejects.toThrow("is not the partition");
    await as("worker", "SELECT drop_event_partition('event_200102')");
    const week = "SELECT ensure_span_partition('2001-02-01')";
    await expect(as("trace_api", week)).rejects.toThrow("permission denied for function");
    expect((await as("worker", week)).rows).toEqual([{ ensure_span_partition: true }]);
    expect((await as("worker", week)).rows).toEqual([{ ensure_span_partition: false }]);
    await expect(as("worker", "SELECT drop_span_partition('span_default')")).rejects.toThrow("is not a partition");
    await expect(as("worker", "SELECT drop_span_partition('account')")).rejects.toThrow("is not a partition");
    await as("worker", "SELECT drop_span_partition('span_20010129')");
    const visitors = "SELECT ensure_visitor_partition('2001-02-01')";
    await expect(as("collector", visitors)).rejects.toThrow("permission denied for function");
    expect((await as("worker", visitors)).rows).toEqual([{ ensure_visitor_partition: true }]);
    await expect(as("worker", "SELECT drop_visitor_partition('site')")).rejects.toThrow("is not a partition");
    await as("worker", "SELECT drop_visitor_partition('daily_visitor_20010201')");
    expect((await as("worker", "SELECT empty_old_visitors('2001-02-01')")).rows).toEqual([
      { empty_old_visitors: true },
    ]);
    await expect(as("collector", "SELECT empty_old_visitors('2001-02-01')")).rejects.toThrow("permission denied");
    const { rows } = await database.pool.query(
      `SELECT oid::regprocedure::text AS name, prosecdef AS definer, proconfig AS settings FROM pg_proc
       WHERE pronamespace = 'public'::regnamespace AND prosecdef ORDER BY 1`,
    );
    const settings = (name: string) => [
      ...(name === "refuse_moving()" ? ["jit=off"] : []),
      "search_path=public, pg_temp",
    ];
    expect(rows).toEqual(
      Object.keys(functionGrants)
        .sort()
        .map((name) => ({ name, definer: true, settings: settings(name) })),
    );
  });

  it("enter with the last password that was given, which is sent as a hash", async () => {
    const client = new pg.Client({ connectionString: urlOf("worker") });
    await client.connect();
    await client.end();
    await grantRoles(database.url, { ...passwords, worker: "another-password" }, prefix);
    await expect(as("worker", "SELECT 1")).rejects.toThrow("authentication failed");
    await grant();
    await as("worker", "SELECT 1");
  });
});

describe("the passwords of roles in an environment", () => {
  const env = Object.fromEntries(Object.values(rolePasswordVariables).map((name) => [name, `${name}-secret`]));

  it("are all or none", () => {
    expect(readRolePasswords({ OTHER: "x" })).toBeUndefined();
    expect(readRolePasswords(env)).toMatchObject({ trace_api: "TRACE_API_DB_PASSWORD-secret" });
    const some = { TRACE_API_DB_PASSWORD: "long-enough-secret", WORKER_DB_PASSWORD: "short" };
    expect(() => readRolePasswords(some)).toThrow(RolePasswordError);
    expect(() => readRolePasswords(some)).toThrow(
      /^Set ANALYTICS_API_DB_PASSWORD, COLLECTOR_DB_PASSWORD, WORKER_DB_PASSWORD, DASHBOARD_DB_PASSWORD to/,
    );
  });

  it("are put into a URL whatever signs they have", () => {
    const url = roleUrl("postgres://owner:x@db.example:5433/waymark?sslmode=require", "trace_api", "a/b:c@d%e#f?g");
    const { user, password, host, port, database } = new pg.Client({ connectionString: url.replace(/\?.*/, "") });
    expect([user, password, host, port, database]).toEqual([
      "waymark_trace_api",
      "a/b:c@d%e#f?g",
      "db.example",
      5433,
      "waymark",
    ]);
    expect(url).toMatch(/\?sslmode=require$/);
  });
});

describe("the schema's problem of a role", () => {
  it("is a privilege that a service's role lacks, asked by the owner", async () => {
    const { pool } = database;
    const problem = () => findSchemaProblem(pool, "collector", `${prefix}_collector`);
    expect(await problem()).toBeUndefined();
    await pool.query(`REVOKE SELECT ON site FROM ${prefix}_collector`);
    expect(await problem()).toMatch(/^the role may not SELECT on site/);
    await grant();
    expect(await problem()).toBeUndefined();
  });
});
