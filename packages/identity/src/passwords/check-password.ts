import type pg from "pg";
import type { Passwords } from "./passwords.js";

/** @param network of the client, for the turns of hashes */
export type CheckPassword = (
  email: string,
  password: string,
  network: string,
) => Promise<{ personId: string } | undefined>;

/**
 * Makes the check of an address and a password. An unknown address, a person without a password and a wrong password cost the
 * same scrypt and have the same answer. better-auth takes 25 MB, so the first check loads it.
 */
export function createPasswordCheck(deps: { pool: pg.Pool; passwords: Passwords }): CheckPassword {
  let loading: Promise<CheckPassword> | undefined;
  return async (...input) => {
    loading ??= import("./better-auth.js").then(({ createBetterAuthCheck }) => createBetterAuthCheck(deps));
    return (await loading)(...input);
  };
}
