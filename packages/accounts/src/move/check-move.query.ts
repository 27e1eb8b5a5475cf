import type pg from "pg";
import { MoveError } from "./move-error.js";

// The roles of services may not read the system's identifier; its owner may.
const identitySql = `
  SELECT (SELECT system_identifier::text FROM pg_control_system()) || ' ' || oid AS identity,
    (SELECT string_agg(migration_name, ' ' ORDER BY migration_name) FROM _prisma_migrations WHERE rolled_back_at IS NULL) AS migrations,
    (SELECT day::text FROM event_horizon) AS horizon
  FROM pg_database WHERE datname = current_database()`;

interface Identity {
  identity: string;
  migrations: string;
  horizon: string | null;
}

async function identify(pool: pg.Pool): Promise<Identity> {
  const { rows } = await pool.query<Identity>(identitySql);
  if (!rows[0]) throw new Error("The database does not know itself");
  return rows[0];
}

/** @throws MoveError with what is wrong between the two databases */
export async function checkDatabases(source: pg.Pool, target: pg.Pool): Promise<void> {
  const [from, to] = await Promise.all([identify(source), identify(target)]);
  if (from.identity === to.identity) throw new MoveError("--to is the database that the slot is in.");
  if (from.migrations !== to.migrations) {
    throw new MoveError(
      "The two databases have different migrations. Bring both to this version with 'waymark migrate'.",
    );
  }
  if ((from.horizon ?? "") > (to.horizon ?? "")) {
    throw new MoveError(
      `The other cell keeps raw events from ${to.horizon ?? "the first one"} and this one from ${from.horizon}: the other's figures of earlier days could be counted from a part. Give its worker the same EVENT_RETENTION_MONTHS first.`,
    );
  }
}

interface Collision {
  what: string;
  own: string;
  others: string;
}

/** What two cells may both have, though one may not: by unique indexes of the target, and the source's rows of the slot. */
const collisions: readonly Collision[] = [
  {
    what: "an account with the address",
    own: "SELECT id::text, email AS value FROM account WHERE slot = $1",
    others: "SELECT id::text, email AS value FROM account WHERE email = ANY ($1)",
  },
  {
    what: "another person with the address",
    own: `SELECT id::text, email AS value FROM person WHERE id IN (
      SELECT person_id FROM membership m JOIN account a ON a.id = m.account_id WHERE a.slot = $1)`,
    others: "SELECT id::text, email AS value FROM person WHERE email = ANY ($1) AND NOT id::text = ANY ($2)",
  },
  {
    what: "a site of the domain",
    own: `SELECT d.account_id::text AS id, d.domain AS value FROM site_domain d JOIN account a ON a.id = d.account_id WHERE a.slot = $1`,
    others: "SELECT account_id::text AS id, domain AS value FROM site_domain WHERE domain = ANY ($1)",
  },
];

/** @throws MoveError for a slot without accounts, and the first address or domain that the target has already */
export async function checkSlot(source: pg.Pool, target: pg.Pool, slot: string): Promise<void> {
  const { rowCount } = await source.query("SELECT FROM account WHERE slot = $1 LIMIT 1", [slot]);
  if (!rowCount) throw new MoveError(`No account has the slot ${slot}.`);
  const { rows: taken } = await target.query("SELECT FROM account WHERE slot = $1 LIMIT 1", [slot]);
  if (taken.length > 0) throw new MoveError(`The other cell has accounts of the slot ${slot} already.`);
  for (const { what, own, others } of collisions) {
    const { rows } = await source.query<{ id: string; value: string }>(own, [slot]);
    const values = [rows.map(({ value }) => value), ...(others.includes("$2") ? [rows.map(({ id }) => id)] : [])];
    const { rows: found } = await target.query<{ value: string }>(`${others} LIMIT 1`, values);
    if (found[0]) throw new MoveError(`The other cell has ${what} ${found[0].value}. Remove or rename one of the two.`);
  }
}
