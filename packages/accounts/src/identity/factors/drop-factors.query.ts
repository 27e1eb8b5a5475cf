import { withTransaction } from "@waymark/database";
import type pg from "pg";
import { recordForPerson } from "../audit.query.js";
import { endSessionsOf } from "../sessions/session.query.js";

/** The lock of passkeys being added, so that none is added meanwhile. A probe of `person_email_key`. */
const lockSql = "SELECT id FROM person WHERE email = $1 FOR UPDATE";

/** An offered secret goes too, and is no factor. A probe of `totp_pkey`. */
const dropCodesSql = 'DELETE FROM totp WHERE person_id = $1 RETURNING confirmed_at IS NOT NULL AS "isOn"';

/** A range of `passkey_person_id_idx`. */
const dropPasskeysSql = "DELETE FROM passkey WHERE person_id = $1 RETURNING name";

/**
 * Removes a person's one-time codes and passkeys for an operator, and ends their sessions where there were some. Each of
 * their accounts gets a record of each. @param email in lower case @returns undefined for an unknown address
 */
export async function dropFactors(pool: pg.Pool, email: string) {
  return withTransaction(pool, async (client) => {
    const person = (await client.query<{ id: string }>(lockSql, [email])).rows[0];
    if (!person) return undefined;
    const codes = await client.query<{ isOn: boolean }>(dropCodesSql, [person.id]);
    const passkeys = (await client.query<{ name: string }>(dropPasskeysSql, [person.id])).rows;
    const hadCodes = codes.rows[0]?.isOn === true;
    const removed = [...(hadCodes ? ["one-time codes"] : []), ...passkeys.map(({ name }) => `passkey ${name}`)];
    for (const factor of removed) {
      const subject = `${factor} of ${email}`;
      await recordForPerson(client, { personId: person.id, actorId: null, action: "factor_removed", subject });
    }
    if (removed.length > 0) await endSessionsOf(client, person.id);
    return { email, codes: hadCodes, passkeys: passkeys.length };
  });
}
