import { expect, it } from "@jest/globals";
import { createPool, createUuidV7 } from "@waymark/database";
import { useDatabase } from "@waymark/testing";
import { nothingPurged, purgeAccount } from "./purge.query.js";

const { url } = useDatabase();
const joins = /Nested Loop(?! Anti)|(Hash|Merge)( Right)?( Semi)? Join/;

it("purges without joining a table to its batch, which Postgres might search anew for each row", async () => {
  const pool = createPool({ connectionString: url, maxConnections: 1, applicationName: "test", statementTimeoutMs: 0 });
  const id = createUuidV7()();
  const bounds = { traceId: id, spanTraceId: id, entryId: id };
  const times = { endedBefore: new Date(0), summedBefore: new Date(0), seenBefore: new Date(0) };
  await purgeAccount(pool, { accountId: id, ...bounds, ...times, isStopping: () => false }, nothingPurged());
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
