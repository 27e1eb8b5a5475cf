import type pg from "pg";
import type { CheckPassword } from "./better-auth.js";
import type { Passwords } from "./passwords.js";

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
