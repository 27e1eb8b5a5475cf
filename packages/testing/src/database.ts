import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect } from "@jest/globals";
import pg from "pg";
import { databaseVariables, directServerUrl, directUrlOf, type Service, testServerUrl } from "./test-server.js";

/** `pnpm test` migrates this database once; every test file clones it. */
const templateDatabase = "waymark_template";

/**
 * Gives a test file a database of its own, cloned from the migrated template on the real server. Call it at the top
 * of a `describe` or file; its members can be read once tests or `beforeAll` run. `KEEP_DB=1` keeps it afterwards.
 */
export function useDatabase() {
  const server = directServerUrl();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = new URL(testServerUrl());
  url.pathname = `/${name}`;
  const directUrl = directUrlOf(url.href);
  const pool = openPool(url.href);
  const directPool = directUrl === url.href ? pool : openPool(directUrl);

  // Half the time of a copy by the log, where nothing waits for a disk.
  beforeAll(() => runOn(server, `CREATE DATABASE ${name} TEMPLATE ${templateDatabase} STRATEGY FILE_COPY`));
  afterAll(async () => {
    await Promise.all([...new Set([pool, directPool])].map((each) => each.end()));
    if (process.env["KEEP_DB"]) {
      process.stderr.write(`Kept the database of ${expect.getState().testPath}:\n  psql '${url.href}'\n`);
      return;
    }
    await runOn(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return {
    url: url.href,
    /** The same, past the pooler of `pnpm test --pooler`. */
    directUrl,
    pool,
    /** The same by `directUrl`, for work that leaves something in its session, as a temporary table. */
    directPool,
  };
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: 10,
    pipeline: true,
    onConnect: async (client) => void (await client.query("SET TimeZone = 'UTC'")),
  });
  pool.on("error", () => undefined);
  return pool;
}

/** A service's pool in a test: behind a pooler in transaction mode by its role, with its `limits`. After `useDatabase`. */
export function useServiceRole(service: Service, url: string, limits: Readonly<Record<string, number>> = {}) {
  const { DATABASE_URL: connectionString, DIRECT_DATABASE_URL, DATABASE_POOLER } = databaseVariables(service, url);
  const isPooledByTransaction = DATABASE_POOLER === "transaction";
  const role = `ALTER ROLE "${service}" IN DATABASE "${new URL(url).pathname.slice(1)}"`;
  const sql = Object.entries(limits).map(([name, value]) => `${role} SET ${name} = ${value}`);
  if (isPooledByTransaction) beforeAll(() => runOn(DIRECT_DATABASE_URL, sql.join(";")));
  return { connectionString, isPooledByTransaction };
}

/** An empty database, without tables, for tests of the migrations themselves. */
export function useEmptyDatabase() {
  const server = directServerUrl();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  beforeAll(() => runOn(server, `CREATE DATABASE ${name} TEMPLATE template0`));
  afterAll(() => runOn(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  return { url: url.href };
}

/**
 * A prefix for the roles of a test file: roles belong to the whole server. They are dropped after the file's tests. Call it
 * after `useDatabase` and outside of `describe`, since roles with rights in a database cannot be dropped.
 */
export function useRolePrefix(): string {
  const prefix = `test_${randomBytes(6).toString("hex")}`;
  const drop = `DO $$ DECLARE role name; BEGIN
    FOR role IN SELECT rolname FROM pg_roles WHERE starts_with(rolname, '${prefix}_') LOOP
      EXECUTE format('DROP ROLE %I', role);
    END LOOP;
  END $$`;
  afterAll(() => (process.env["KEEP_DB"] ? undefined : runOn(directServerUrl(), drop)));
  return prefix;
}

async function runOn(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
