import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createRefusals } from "@waymark/service/http";
import { useDatabase } from "@waymark/testing";
import { Registry } from "prom-client";
import { createPasswordCheck, createPasswords, type Passwords } from "./passwords.js";

const database = useDatabase();
const passwords = createPasswords({ refusals: createRefusals(new Registry()), cost: { N: 1_024, r: 8, p: 1 } });

async function addPerson(password: string | null, isVerified = true) {
  const id = randomUUID();
  const email = `${id}@example.com`;
  const hash = password === null ? null : await passwords.hash(password, "own");
  const person = "INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, 'Ada', $3)";
  await database.pool.query(person, [id, email, isVerified]);
  const credential =
    "INSERT INTO credential (id, person_id, provider, subject, password) VALUES ($1, $1, 'credential', $3, $2)";
  await database.pool.query(credential, [id, hash, id]);
  return { id, email };
}

/** Notes whose hashes a check computes. */
function countingCheck() {
  const networks: string[] = [];
  const counted: Passwords = {
    hash(password, network) {
      networks.push(network);
      return passwords.hash(password, network);
    },
    verify(stored, password, network) {
      networks.push(network);
      return passwords.verify(stored, password, network);
    },
  };
  const check = createPasswordCheck({ pool: database.pool, passwords: counted });
  return { check, takeNetworks: () => networks.splice(0) };
}

describe("the check of a password", () => {
  it("finds the person with the address in any case and the right password, and starts no session", async () => {
    const { id, email } = await addPerson("correct horse battery");
    const { check } = countingCheck();
    expect(await check(email.toUpperCase(), "correct horse battery", "here")).toEqual({ personId: id });
    const { rows } = await database.pool.query("SELECT FROM session");
    expect(rows).toEqual([]);
  });

  it("takes a hash that a release with better-auth stored", async () => {
    const { id, email } = await addPerson(null);
    const stored = "scrypt$32768$8$3$PzKN9x_wrvXVlkQWKAS7hg$HNkry9KXoVANS4DApa4bg6rPeR3n6q58QfTZ7M6mrD4";
    await database.pool.query("UPDATE credential SET password = $2 WHERE person_id = $1", [id, stored]);
    const { check } = countingCheck();
    expect(await check(email, "correct horse battery", "here")).toEqual({ personId: id });
    expect(await check(email, "correct horse batterY", "here")).toBeUndefined();
  });

  it("finds nobody otherwise, after one hash of the client's network each time", async () => {
    const { email } = await addPerson("correct horse battery");
    const withoutPassword = await addPerson(null);
    const { check, takeNetworks } = countingCheck();
    const tries: [string, string][] = [
      [email, "wrong horse battery"],
      [withoutPassword.email, "correct horse battery"],
      ["nobody@example.com", "correct horse battery"],
    ];
    const outcomes = await Promise.all(tries.map(([address, password], n) => check(address, password, `network ${n}`)));
    expect(outcomes).toEqual([undefined, undefined, undefined]);
    expect(takeNetworks().sort()).toEqual(["network 0", "network 1", "network 2"]);
  });

  it("finds nobody whose address is not proven", async () => {
    const { email } = await addPerson("correct horse battery", false);
    expect(await countingCheck().check(email, "correct horse battery", "here")).toBeUndefined();
  });
});
