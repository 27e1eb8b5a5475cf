import { hash } from "node:crypto";
import { type Queryable, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { recordForPerson } from "../audit.query.js";

const maxPasskeys = 20;
const challengeLifeMs = 5 * 60_000;
const maxChallenges = 10_000;

/** Removes ended ones and, beyond the bound, the oldest, in ranges of `challenge_expires_at_idx`. */
const insertChallengeSql = `
  WITH removed AS (
    DELETE FROM challenge WHERE expires_at < $3 OR hash IN (
      SELECT hash FROM challenge ORDER BY expires_at DESC OFFSET ${maxChallenges - 1}))
  INSERT INTO challenge (hash, person_id, expires_at) VALUES ($1, $2, $4)`;

interface Challenge {
  challenge: Buffer;
  /** Of somebody signed in who adds a passkey; null for a sign-in. */
  personId: string | null;
  now: Date;
}

const hashOf = (challenge: Buffer) => hash("sha256", challenge, "buffer");

export async function keepChallenge(client: Queryable, { challenge, personId, now }: Challenge): Promise<void> {
  const endsAt = new Date(now.getTime() + challengeLifeMs);
  await client.query(insertChallengeSql, [hashOf(challenge), personId, now, endsAt]);
}

/** A challenge works once, for whom it was made: of two at once the second finds none. A probe of `challenge_pkey`. */
const takeChallengeSql = `
  DELETE FROM challenge WHERE hash = $1 AND person_id IS NOT DISTINCT FROM $2::uuid AND expires_at > $3`;

export async function takeChallenge(client: Queryable, { challenge, personId, now }: Challenge): Promise<boolean> {
  return (await client.query(takeChallengeSql, [hashOf(challenge), personId, now])).rowCount === 1;
}

interface NewPasskey {
  id: string;
  personId: string;
  name: string;
  publicKey: Uint8Array;
  counter: number;
}

/** Under the person's lock. @throws AppError 409 for one too many, or a passkey that somebody has */
export async function addPasskey(pool: pg.Pool, { id, personId, name, publicKey, counter }: NewPasskey): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query("SELECT FROM person WHERE id = $1 FOR UPDATE", [personId]);
    const { passkeys } = await listPasskeys(client, personId);
    const reason = passkeys.length < maxPasskeys ? undefined : `At most ${maxPasskeys} passkeys of a person.`;
    if (reason) throw new AppError("account_full", { details: { limit: maxPasskeys, reason } });
    const sql = `INSERT INTO passkey (id, person_id, name, public_key, counter) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (id) DO NOTHING`;
    const { rowCount } = await client.query(sql, [id, personId, name, Buffer.from(publicKey), counter]);
    if (rowCount !== 1) throw new AppError("wrong_passkey");
    await recordForPerson(client, { personId, action: "factor_added", subject: `passkey ${name}` });
  });
}

interface PasskeyRow {
  id: string;
  name: string;
  createdAt: Date;
  usedAt: Date | null;
}

/** A range of `passkey_person_id_idx`. */
const listPasskeysSql = `
  SELECT id, name, created_at AS "createdAt", used_at AS "usedAt" FROM passkey
  WHERE person_id = $1 ORDER BY created_at, id LIMIT ${maxPasskeys}`;

export async function listPasskeys(client: Queryable, personId: string) {
  return { passkeys: (await client.query<PasskeyRow>(listPasskeysSql, [personId])).rows };
}

export async function removePasskey(
  pool: pg.Pool,
  { id, personId }: { id: string; personId: string },
): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const sql = "DELETE FROM passkey WHERE id = $1 AND person_id = $2 RETURNING name";
    const { rows } = await client.query<{ name: string }>(sql, [id, personId]);
    if (!rows[0]) return false;
    await recordForPerson(client, { personId, action: "factor_removed", subject: `passkey ${rows[0].name}` });
    return true;
  });
}

interface StoredPasskey {
  personId: string;
  publicKey: Buffer;
  counter: number;
}

/** Probes `passkey_pkey` and `person_pkey`: only somebody with a proven address signs in. */
const findPasskeySql = `
  SELECT k.person_id AS "personId", k.public_key AS "publicKey", k.counter::float8 AS counter
  FROM passkey k JOIN person p ON p.id = k.person_id WHERE k.id = $1 AND p.is_verified`;

export async function findPasskey(client: Queryable, id: string): Promise<StoredPasskey | undefined> {
  return (await client.query<StoredPasskey>(findPasskeySql, [id])).rows[0];
}

/** Keeps the counter, unless a copy of the passkey was ahead. Synchronized passkeys always count 0. A probe of `passkey_pkey`. */
const usePasskeySql = `
  UPDATE passkey SET counter = $2, used_at = $3 WHERE id = $1 AND (counter < $2 OR counter = 0 AND $2 = 0)`;

export async function usePasskey(client: Queryable, { id, counter, now }: { id: string; counter: number; now: Date }) {
  return (await client.query(usePasskeySql, [id, counter, now])).rowCount === 1;
}
