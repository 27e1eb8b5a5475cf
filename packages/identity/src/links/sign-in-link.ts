import { withTransaction } from "@waymark/database";
import type pg from "pg";
import { addPerson, findPersonByEmail, joinAccount } from "../people/person.query.js";
import { createLink } from "./link.query.js";

export interface SignInLink {
  /** Signs in once, after a click on its page. */
  url: string;
  email: string;
  expiresAt: Date;
}

export interface SignInLinkOptions {
  pool: pg.Pool;
  account: { id: string; email: string };
  /** The dashboard's address. */
  dashboardUrl: string;
  /** Default 15 minutes. */
  lifeMs?: number;
  now: Date;
}

/** The first owner. A range of `membership_pkey`, sorted. */
const findOwnerSql = `
  SELECT p.id, p.email FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.account_id = $1 AND m.role = 'owner' ORDER BY m.created_at, p.id LIMIT 1`;

/**
 * Makes a link that signs in as the account's first owner; an account without an owner gets one with its own address. For
 * people with access to the database, who could do the same by hand.
 */
export async function createSignInLink(options: SignInLinkOptions): Promise<SignInLink> {
  const { pool, account, dashboardUrl, lifeMs, now } = options;
  return withTransaction(pool, async (client) => {
    // Two commands at once must not make two owners.
    await client.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [account.id]);
    const { rows } = await client.query<{ id: string; email: string }>(findOwnerSql, [account.id]);
    const owner = rows[0] ?? (await makeOwner(client, account));
    const { token, expiresAt } = await createLink(client, {
      purpose: "sign_in",
      email: owner.email,
      personId: owner.id,
      accountId: account.id,
      now,
      ...(lifeMs !== undefined && { lifeMs }),
    });
    return { url: linkUrl(dashboardUrl, token), email: owner.email, expiresAt };
  });
}

async function makeOwner(client: pg.ClientBase, { id: accountId, email }: { id: string; email: string }) {
  const known = await findPersonByEmail(client, email);
  const personId = known?.id ?? (await addPerson(client, { email, name: email.split("@")[0] ?? email }));
  if (personId === undefined) throw new Error("The address got a person in this moment; try again");
  await joinAccount(client, { accountId, personId, role: "owner" });
  await client.query("UPDATE membership SET role = 'owner' WHERE account_id = $1 AND person_id = $2", [
    accountId,
    personId,
  ]);
  return { id: personId, email };
}

/** The page of a link. */
export function linkUrl(dashboardUrl: string, token: string): string {
  return `${dashboardUrl.replace(/\/+$/, "")}/dashboard/link/${token}`;
}
