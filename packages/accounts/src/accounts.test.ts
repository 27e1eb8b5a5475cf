import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { hashApiKey } from "@waymark/auth";
import { createPrisma } from "@waymark/database/prisma";
import { useDatabase } from "@waymark/testing";
import { AccountError, changePlan, createAccount, findAccount, findAccountByEmail, listAccounts } from "./accounts.js";
import { issueKey, listKeys, readLiveKeys, renameKey, revokeKey } from "./keys.js";
import { createSite, shareSite } from "./sites.js";

const database = useDatabase();
const prisma = createPrisma(database.pool);
const nobody = "00000000-0000-7000-8000-000000000000";

describe("accounts", () => {
  it("are created, listed and moved to another plan", async () => {
    const account = await createAccount(prisma, { email: " Team@Example.com ", plan: "free" });
    expect(account).toEqual({ id: expect.any(String), email: "team@example.com", plan: "free" });
    expect(await changePlan(database.pool, account.id, "pro")).toEqual({ ...account, plan: "pro" });
    expect(await listAccounts(prisma)).toContainEqual({ ...account, plan: "pro" });
  });

  it("have one address each, however it is written", async () => {
    await createAccount(prisma, { email: "once@example.com", plan: "free" });
    await expect(createAccount(prisma, { email: "ONCE@example.com", plan: "pro" })).rejects.toThrow(/already/);
  });

  it.each([
    "",
    "nobody",
    "@example.com",
    "a@",
    "a b@example.com",
    "a@b@c",
    "a@b\u0000",
    `${"a".repeat(250)}@example.com`,
  ])("are not created for the address %j", async (email) => {
    await expect(createAccount(prisma, { email, plan: "free" })).rejects.toThrow(AccountError);
  });

  it("are found by their address, however it is written", async () => {
    const account = await createAccount(prisma, { email: "found@example.com", plan: "free" });
    expect(await findAccountByEmail(prisma, " Found@Example.com")).toEqual(account);
    await expect(findAccountByEmail(prisma, "lost@example.com")).rejects.toMatchObject({ refusal: "unknown_account" });
    await expect(findAccountByEmail(prisma, "nobody")).rejects.toMatchObject({ refusal: "invalid_email" });
  });

  it.each(["not-an-id", nobody])("say so where there is none with the id %s", async (id) => {
    await expect(findAccount(prisma, id)).rejects.toThrow(AccountError);
    await expect(changePlan(database.pool, id, "pro")).rejects.toThrow(AccountError);
  });
});

describe("slots", () => {
  const slotOf = async (id: string) =>
    (await database.pool.query<{ slot: string }>("SELECT slot FROM account WHERE id = $1", [id])).rows[0]?.slot;

  it("are drawn for new accounts from those of the cell, and all their keys carry them", async () => {
    const slots = new Set(["c1", "c2"]);
    const { id: accountId } = await createAccount(prisma, { email: "slot@example.com", plan: "pro", slots });
    const slot = (await slotOf(accountId)) ?? "";
    expect(slots).toContain(slot);
    for (const service of ["trace", "analytics"] as const) {
      const { key } = await issueKey(database.pool, { accountId, service, name: "k" });
      expect(key.split("_")[2]).toBe(slot);
    }
    const { site } = await createSite(database.pool, { accountId, domain: "slot.example", name: "s" });
    const shared = await shareSite(database.pool, { siteId: site.id, name: "s", expiresAt: null });
    expect(shared.key.split("_")[2]).toBe(slot);
  });

  it("are 00 for accounts from before slots", async () => {
    const id = randomUUID();
    await database.pool.query("INSERT INTO account (id, email, plan) VALUES ($1, 'old@example.com', 'pro')", [id]);
    const { key } = await issueKey(database.pool, { accountId: id, service: "trace", name: "k" });
    expect(key).toMatch(/^wmk_trace_00_/);
  });
});

describe("keys", () => {
  it("are stored as SHA-256 alone, and shown once", async () => {
    const { id: accountId } = await createAccount(prisma, { email: "keys@example.com", plan: "free" });
    const issued = await issueKey(database.pool, { accountId, service: "trace", name: "ci" });
    const { rows } = await database.pool.query("SELECT *, api_key::text AS line FROM api_key WHERE id = $1", [
      issued.id,
    ]);
    expect(rows[0].hash.equals(hashApiKey(issued.key))).toBe(true);
    expect(rows[0].line).not.toContain(issued.key.slice(10, 40));
    const listed = await listKeys(database.pool, accountId);
    expect(listed).toEqual([
      expect.objectContaining({ id: issued.id, service: "trace", name: "ci", revoked_at: null }),
    ]);
    expect(JSON.stringify(listed)).not.toContain(issued.key);
  });

  it("of the trace API have a scope, all of them by default, and others none", async () => {
    const { id: accountId } = await createAccount(prisma, { email: "scope@example.com", plan: "free" });
    const make = (service: "trace" | "analytics", scope?: "ingest" | "read") =>
      issueKey(database.pool, { accountId, service, scope, name: "k" });
    expect(await make("trace", "ingest")).toMatchObject({ scope: "ingest" });
    expect(await make("trace")).toMatchObject({ scope: "all" });
    expect(await make("analytics")).not.toHaveProperty("scope");
    await expect(make("analytics", "read")).rejects.toMatchObject({ refusal: "invalid_scope" });
    const scopes = (await listKeys(database.pool, accountId)).map(({ scope }) => scope);
    expect(scopes).toEqual(["ingest", "all", null]);
    expect((await readLiveKeys(database.pool, accountId)).map(({ scope }) => scope)).toEqual(scopes.toReversed());
  });

  it("are revoked for good, and keep the moment of the first revocation", async () => {
    const { id: accountId } = await createAccount(prisma, { email: "revoke@example.com", plan: "free" });
    const { id } = await issueKey(database.pool, { accountId, service: "analytics", name: "old" });
    const first = await revokeKey(database.pool, { keyId: id });
    expect(await revokeKey(database.pool, { keyId: id })).toEqual(first);
    expect((await listKeys(database.pool, accountId))[0]?.revoked_at).toBe(first.revoked_at);
  });

  it("get another name, and keep everything else", async () => {
    const { id: accountId } = await createAccount(prisma, { email: "rename@example.com", plan: "free" });
    const { id: keyId } = await issueKey(database.pool, { accountId, service: "trace", name: "old" });
    const [before] = await listKeys(database.pool, accountId);
    expect(await renameKey(database.pool, { keyId, accountId, name: "new" })).toEqual({ ...before, name: "new" });
    await expect(renameKey(database.pool, { keyId, name: " " })).rejects.toThrow(/1 to 200/);
  });

  it("of another account are not found where the account is given", async () => {
    const [mine, other] = await Promise.all(
      ["mine@example.com", "other@example.com"].map((email) => createAccount(prisma, { email, plan: "free" })),
    );
    const { id: keyId } = await issueKey(database.pool, { accountId: mine?.id ?? "", service: "trace", name: "k" });
    const foreign = { keyId, accountId: other?.id ?? "" };
    await expect(renameKey(database.pool, { ...foreign, name: "x" })).rejects.toMatchObject({ refusal: "unknown_key" });
    await expect(revokeKey(database.pool, foreign)).rejects.toMatchObject({ refusal: "unknown_key" });
    expect(await listKeys(database.pool, mine?.id ?? "")).toMatchObject([{ name: "k", revoked_at: null }]);
  });

  it("are not made for unknown accounts or without a name, and not revoked where unknown", async () => {
    const { id: accountId } = await createAccount(prisma, { email: "names@example.com", plan: "free" });
    await expect(issueKey(database.pool, { accountId: nobody, service: "trace", name: "x" })).rejects.toThrow(
      /no account/,
    );
    for (const name of ["", "  ", "n".repeat(201), "a\u0000"]) {
      await expect(issueKey(database.pool, { accountId, service: "trace", name })).rejects.toThrow(/1 to 200/);
    }
    await expect(revokeKey(database.pool, { keyId: nobody })).rejects.toThrow(/no key/);
    await expect(revokeKey(database.pool, { keyId: "x" })).rejects.toThrow(/no key/);
  });
});
