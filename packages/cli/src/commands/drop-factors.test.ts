import { describe, expect, it } from "@jest/globals";
import { useDatabase } from "@waymark/testing";
import { createCommandLine } from "../command-line.fixture.js";

const database = useDatabase();
const waymark = createCommandLine({ DATABASE_URL: database.url });

/** Somebody with a session in one account of their own. */
async function makePerson(email: string) {
  await waymark.json("account", "create", "--email", email, "--plan", "free");
  await waymark.json("sign-in-link", "--account", email);
  const { rows } = await database.pool.query<{ personId: string; accountId: string }>(
    `SELECT p.id AS "personId", m.account_id AS "accountId" FROM person p JOIN membership m ON m.person_id = p.id
     WHERE p.email = $1`,
    [email],
  );
  const { personId = "", accountId = "" } = rows[0] ?? {};
  await database.pool.query(
    `INSERT INTO session (id, person_id, account_id, token, expires_at)
     VALUES (gen_random_uuid(), $1, $2, $3, now() + interval '1 day')`,
    [personId, accountId, email],
  );
  return { personId, accountId };
}

async function addFactors(personId: string, passkeys: readonly string[]) {
  await database.pool.query("INSERT INTO totp (person_id, secret, confirmed_at) VALUES ($1, 'x', now())", [personId]);
  for (const name of passkeys) {
    const sql = `INSERT INTO passkey (id, person_id, name, public_key, counter) VALUES ($1, $2, $3, 'x', 0)`;
    await database.pool.query(sql, [`${personId} ${name}`, personId, name]);
  }
}

async function countsOf(personId: string): Promise<number[]> {
  const sql = ["totp", "passkey", "session"].map(
    (table) => `(SELECT count(*) FROM ${table} WHERE person_id = $1)::int`,
  );
  const { rows } = await database.pool.query({ text: `SELECT ${sql}`, values: [personId], rowMode: "array" });
  return rows[0] ?? [];
}

async function recordOf(accountId: string): Promise<unknown[]> {
  const sql = `SELECT subject, person_id FROM audit WHERE account_id = $1 AND action = 'factor_removed' ORDER BY id`;
  return (await database.pool.query({ text: sql, values: [accountId], rowMode: "array" })).rows;
}

describe("waymark account drop-factors", () => {
  it("removes codes and passkeys, ends sessions, records each in each account, and leaves others alone", async () => {
    const grace = await makePerson("grace@example.com");
    const other = await makePerson("other@example.com");
    await database.pool.query("INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, 'viewer')", [
      other.accountId,
      grace.personId,
    ]);
    await addFactors(grace.personId, ["laptop", "鍵"]);
    await addFactors(other.personId, ["phone"]);
    const dropped = await waymark.run(["account", "drop-factors", "--email", "Grace@Example.com"]);
    expect(dropped).toMatchObject({ code: 0, stdout: "Removed of grace@example.com: one-time codes, passkeys: 2.\n" });
    expect([await countsOf(grace.personId), await countsOf(other.personId)]).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ]);
    const lines = ["one-time codes", "passkey laptop", "passkey 鍵"].map((each) => [
      `${each} of grace@example.com`,
      null,
    ]);
    for (const { accountId } of [grace, other]) {
      expect(await recordOf(accountId)).toEqual(lines);
    }
  });

  it("ends no session and records nothing for somebody without factors; an offered secret is none", async () => {
    const { personId, accountId } = await makePerson("none@example.com");
    await database.pool.query("INSERT INTO totp (person_id, secret) VALUES ($1, 'x')", [personId]);
    const result = await waymark.json("account", "drop-factors", "--email", "none@example.com");
    expect(result).toEqual({ email: "none@example.com", codes: false, passkeys: 0 });
    expect([await countsOf(personId), await recordOf(accountId)]).toEqual([[0, 0, 1], []]);
  });

  it("ends with 1 for an unknown address, and with 2 for a text that is none", async () => {
    const unknown = await waymark.run(["account", "drop-factors", "--email", "nobody@example.com"]);
    expect(unknown).toMatchObject({ code: 1, stdout: "" });
    expect(unknown.stderr).toContain("Nobody has the address 'nobody@example.com'.");
    expect(await waymark.run(["account", "drop-factors", "--email", "grace"])).toMatchObject({ code: 2 });
  });
});
