import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect } from "@jest/globals";
import pg from "pg";

/** `pnpm test` migrates this database once; every test file clones it. */
const templateDatabase = "waymark_template";

export interface TestDatabase {
  /** A database of this test file alone, migrated and empty. */
  readonly url: string;
  /** A pool on it, closed after the file's tests. */
  readonly pool: pg.Pool;
}

/**
 * Gives a test file a database of its own, cloned from the migrated template on the real server. Call it at the top
 * of a `describe` or file; its members can be read once tests or `beforeAll` run. `KEEP_DB=1` keeps it afterwards.
 */
export function useDatabase(): TestDatabase {
  const server = testServerUrl();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 10, pipeline: true, options: "-c TimeZone=UTC" });
  pool.on("error", () => undefined);

  beforeAll(() => runOn(server, `CREATE DATABASE ${name} TEMPLATE ${templateDatabase}`));
  afterAll(async () => {
    await pool.end();
    if (process.env["KEEP_DB"]) {
      process.stderr.write(`Kept the database of ${expect.getState().testPath}:\n  psql '${url.href}'\n`);
      return;
    }
    await runOn(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return { url: url.href, pool };
}

/** An empty database, without tables, for tests of the migrations themselves. */
export function useEmptyDatabase(): { readonly url: string } {
  const server = testServerUrl();
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
  afterAll(() => (process.env["KEEP_DB"] ? undefined : runOn(testServerUrl(), drop)));
  return prefix;
}

function testServerUrl(): string {
  const url = process.env["TEST_DATABASE_URL"];
  if (url) return url;
  throw new Error(
    "TEST_DATABASE_URL is not set. Run tests through `pnpm test`, or `pnpm test --filter=@waymark/NAME` for one package.",
  );
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
