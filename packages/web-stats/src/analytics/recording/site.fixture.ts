import { createUuidV7 } from "@waymark/database";
import type pg from "pg";

const uuid = createUuidV7();

/** A site with an account and a domain of its own, unless there is one of the id. */
export async function makeSite(pool: pg.Pool, id = uuid()): Promise<{ id: string; domain: string }> {
  const accountId = uuid();
  const domain = `${id}.example`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro') ON CONFLICT DO NOTHING", [
    accountId,
    `${id}@x`,
  ]);
  await pool.query(
    `INSERT INTO site (id, account_id, domain, name) SELECT $1, id, $2, 's' FROM account WHERE id = $3`,
    [id, domain, accountId],
  );
  return { id, domain };
}
