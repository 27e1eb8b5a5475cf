import { createUuidV7 } from "@waymark/database";
import type pg from "pg";

const uuid = createUuidV7();

/** A site with an account and a domain of its own. */
export async function makeSite(pool: pg.Pool): Promise<{ id: string; domain: string }> {
  const [accountId, id] = [uuid(), uuid()];
  const domain = `${id}.example`;
  await pool.query("INSERT INTO account (id, email, plan) VALUES ($1, $2, 'pro')", [accountId, `${id}@x`]);
  await pool.query("INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, $3, 's')", [id, accountId, domain]);
  return { id, domain };
}
