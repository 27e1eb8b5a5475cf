import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createPasswordCheck } from "./check-password.js";
import { createPasswords } from "./passwords.js";

const database = useDatabase();
const passwords = createPasswords({ cost: { N: 1_024, r: 8, p: 1 } });

async function addPerson(password: string | null, isVerified = true) {
  const id = randomUUID();
  const email = `${id}@example.com`;
  const hash = password === null ? null : await passwords.hash(password);
  const person = "INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, 'Ada', $3)";
  await database.pool.query(person, [id, email, isVerified]);
  const credential =
    "INSERT INTO credential (id, person_id, provider, subject, password) VALUES ($1, $1, 'credential', $3, $2)";
  await database.pool.query(credential, [id, hash, id]);
  return { id, email };
}

/** Counts the hashes that a check computes. */
function countingCheck() {
  let hashes = 0;
  const counted = {
    hash: (password: string) => {
      hashes++;
      return passwords.hash(password);
    },
    verify: (stored: string, password: string) => {
      hashes++;
      return passwords.verify(stored, password);
    },
  };
  const check = createPasswordCheck({ pool: database.pool, passwords: counted });
  const takeHashes = () => {
    const taken = hashes;
    hashes = 0;
    return taken;
  };
  return { check, takeHashes };
}

describe("the check of a password", () => {
  it("finds the person with the address in any case and the right password, and starts no session of better-auth", async () => {
    const { id, email } = await addPerson("correct horse battery");
    const { check } = countingCheck();
    expect(await check(email.toUpperCase(), "correct horse battery")).toEqual({ personId: id });
    const { rows } = await database.pool.query("SELECT FROM session");
    expect(rows).toEqual([]);
  });

  it("finds nobody otherwise, after one hash each time", async () => {
    const { email } = await addPerson("correct horse battery");
    const withoutPassword = await addPerson(null);
    const { check, takeHashes } = countingCheck();
    const tries: [string, string][] = [
      [email, "wrong horse battery"],
      [withoutPassword.email, "correct horse battery"],
      ["nobody@example.com", "correct horse battery"],
    ];
    for (const [address, password] of tries) {
      expect(await check(address, password)).toBeUndefined();
      expect(takeHashes()).toBe(1);
    }
  });

  it("finds nobody whose address is not proven", async () => {
    const { email } = await addPerson("correct horse battery", false);
    expect(await countingCheck().check(email, "correct horse battery")).toBeUndefined();
  });
});
