import { expect, it } from "@jest/globals";
import { createPool, createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import type pg from "pg";
import { nothingPurged, purgeAccount } from "./purge.query.js";

// A session's prepared statements are read.
const { directUrl } = useDatabase();
const createOnePool = () =>
  createPool({ connectionString: directUrl, maxConnections: 1, applicationName: "test", statementTimeoutMs: 0 });
const joins = /Nested Loop(?! Anti)|(Hash|Merge)( Right)?( Semi)? Join/;

it("purges without joining a table to its batch, which Postgres might search anew for each row", async () => {
  const pool = createOnePool();
  const id = createUuidV7()();
  await prepareAll(pool, id);
  const { rows: statements } = await pool.query(
    "SELECT name, parameter_types::text[] AS types FROM pg_prepared_statements WHERE name LIKE 'purge-%'",
  );
  expect(statements).toHaveLength(Object.keys(nothingPurged()).length);
  for (const { name, types } of statements) {
    const bound = types[1] === "uuid" ? `'${id}'` : "'1970-01-01'";
    const { rows } = await pool.query(`EXPLAIN EXECUTE "${name}" ('${id}', ${bound}, 1000)`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect({ name, isJoined: joins.test(plan), plan }).toMatchObject({ isJoined: false });
  }
  await pool.end();
});

it("expects few spans of a batch where one account fills the table, and so takes its index", async () => {
  const pool = createOnePool();
  const id = createUuidV7()();
  await prepareAll(pool, id);
  await pool.query(
    `INSERT INTO span (account_id, trace_id, id, name, status, started_at)
     SELECT $1, uuid_floor(to_timestamp(n / 10)), gen_random_uuid(), 'step', 'ok', now() FROM generate_series(1, 20000) AS n`,
    [id],
  );
  await pool.query("ANALYZE span");
  for (const mode of ["force_generic_plan", "force_custom_plan"]) {
    await pool.query(`SET plan_cache_mode = ${mode}`);
    const { rows } = await pool.query(`EXPLAIN EXECUTE "purge-span" ('${id}', '${id}', 1000)`);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    const expected = /-> {2}Append .* rows=(\d+)/.exec(plan)?.[1];
    expect({ mode, plan, isFew: Number(expected) < 500 }).toMatchObject({ isFew: true });
  }
  await pool.end();
});

/** Sends each statement of a purge once. */
async function prepareAll(pool: pg.Pool, id: string): Promise<void> {
  const bounds = { traceId: id, visitTraceId: id, spanTraceId: id, entryId: id };
  const times = { endedBefore: new Date(0), summedBefore: new Date(0), seenBefore: new Date(0) };
  await purgeAccount(pool, { accountId: id, ...bounds, ...times, isStopping: () => false }, nothingPurged());
}
