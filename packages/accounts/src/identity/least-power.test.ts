import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createKeyDirectory } from "@waymark/auth";
import { byRole, createPool, grantRoles, roleUrl, withTransaction } from "@waymark/database";
import { createRefusals } from "@waymark/service/http";
import { useDatabase, useRolePrefix } from "@waymark/testing";
import type pg from "pg";
import { pino } from "pino";
import { Registry } from "prom-client";
import { issueKey, readSharedLinks, revokeKey } from "../keys.js";
import { listAudit } from "./audit.query.js";
import { createLink } from "./links/link.query.js";
import { useLink } from "./links/use-link.js";
import { createPasswordCheck, createPasswords } from "./passwords/passwords.js";
import { changeRole, listPeople, removePerson } from "./people/team.query.js";
import { endSession, findSession, keepSession, listSessions } from "./sessions/session.query.js";

const database = useDatabase();
const prefix = useRolePrefix();
const rolePasswords = byRole((role) => `password-of-${role}`);
const refusals = createRefusals(new Registry());
const passwords = createPasswords({ refusals, cost: { N: 1_024, r: 8, p: 1 } });
let pool: pg.Pool;

beforeAll(async () => {
  await grantRoles(database.url, rolePasswords, prefix);
  pool = createPool({
    connectionString: roleUrl(database.url, "dashboard", rolePasswords.dashboard, prefix),
    maxConnections: 2,
    applicationName: "test",
    statementTimeoutMs: 10_000,
  });
});
afterAll(() => pool.end());

describe("the dashboard's role", () => {
  const now = () => new Date();
  const arrive = async (token: string, input = {}) => {
    const deps = { pool, passwords, now, takeCode: async () => false, confirmChannel: async () => undefined };
    const { personId = "", accountId = "", sessionToken } = await useLink(deps, { token, network: "here", ...input });
    return { personId, accountId, sessionToken };
  };

  it("may do all that people need: sign up, in and out, reset, invite, change roles, leave", async () => {
    const email = `${randomUUID()}@example.com`;
    const passwordHash = await passwords.hash("correct horse", "here");
    const signUp = await createLink(pool, { purpose: "verify", email, name: "Ada", passwordHash, now: now() });
    const ada = await arrive(signUp.token, { password: "correct horse" });
    expect(await createPasswordCheck({ pool, passwords })(email, "correct horse", "here")).toEqual({
      personId: ada.personId,
    });

    const session = await findSession(pool, ada.sessionToken ?? "", now());
    if (!session) throw new Error("no session");
    await keepSession(pool, session, new Date(Date.now() + 2 * 3_600_000));
    expect(await listSessions(pool, ada.personId, now())).toHaveLength(1);

    const { accountId } = ada;
    const invitation = await createLink(pool, {
      purpose: "invite",
      email: "eve@example.com",
      accountId,
      role: "member",
      now: now(),
    });
    const eve = await arrive(invitation.token, { name: "Eve", password: "correct horse" });
    const reset = await createLink(pool, {
      purpose: "reset",
      email: "eve@example.com",
      personId: eve.personId,
      now: now(),
    });
    await arrive(reset.token, { password: "another horse" });
    await changeRole(pool, { accountId, personId: eve.personId, actorId: ada.personId, role: "owner" });
    const leave = { accountId, personId: ada.personId, actorId: ada.personId };
    await withTransaction(pool, (client) => removePerson(client, leave));
    expect((await listPeople(pool, accountId)).map(({ email: address }) => address)).toEqual(["eve@example.com"]);
    const { rows } = await database.pool.query("SELECT FROM person WHERE id = $1", [ada.personId]);
    expect(rows).toEqual([]);
    expect(await endSession(pool, session)).toBe(false);
    const { entries } = await listAudit(pool, { accountId, role: "owner" });
    expect(entries.map(({ action }) => action)).toEqual([
      "person_removed",
      "role_changed",
      "person_joined",
      "person_joined",
    ]);
  });

  it("may make, open and revoke a shared link", async () => {
    const [accountId, siteId, log] = [randomUUID(), randomUUID(), pino({ level: "silent" })];
    await database.pool.query(
      "INSERT INTO account (id, email, plan) VALUES ($1, gen_random_uuid() || '@example.com', 'pro')",
      [accountId],
    );
    const site = "INSERT INTO site (id, account_id, domain, name) VALUES ($1, $2, 'a.example', 's')";
    await database.pool.query(site, [siteId, accountId]);
    const share = { siteId, expiresAt: new Date(Date.now() + 60_000) };
    const { id, key } = await issueKey(pool, { accountId, service: "link", name: "a.example", share });
    const links = createKeyDirectory({ service: "link", pool, connectionString: database.directUrl, log });
    expect(await links.find(key)).toMatchObject({ accountId, siteId });
    await links.stop();
    const [listed] = await readSharedLinks(pool, accountId, { subjectId: siteId });
    expect(listed).toMatchObject({ id, lastUsedAt: expect.any(Date) });
    await revokeKey(pool, { keyId: id, accountId });
    expect(await readSharedLinks(pool, accountId, {})).toEqual([]);
  });

  it("may not change the record", async () => {
    await expect(pool.query("UPDATE audit SET subject = ''")).rejects.toThrow("permission denied");
    await expect(pool.query("DELETE FROM audit")).rejects.toThrow("permission denied");
  });
});
