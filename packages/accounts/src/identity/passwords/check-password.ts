import type pg from "pg";
import { findPersonByEmail, readPassword } from "../people/person.query.js";
import type { Passwords } from "./passwords.js";

/**
 * @param network of the client, for the turns of hashes
 * @returns the person with a proven address and this password; undefined otherwise
 */
export type CheckPassword = (
  email: string,
  password: string,
  network: string,
) => Promise<{ personId: string } | undefined>;

/**
 * Makes the check of an address and a password. An unknown address, a person without a password and a wrong password cost the
 * same scrypt and have the same answer.
 */
export function createPasswordCheck({ pool, passwords }: { pool: pg.Pool; passwords: Passwords }): CheckPassword {
  return async (email, password, network) => {
    const person = await findPersonByEmail(pool, email.toLowerCase());
    const stored = person && (await readPassword(pool, person.id));
    if (stored === undefined) {
      await passwords.hash(password, network);
      return undefined;
    }
    const isRight = await passwords.verify(stored, password, network);
    return isRight && person?.isVerified ? { personId: person.id } : undefined;
  };
}
