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
  /** The person; the account's first owner without it. Becomes the owner of an account without people. */
  email?: string;
  dashboardUrl: string;
  /** Default 15 minutes. */
  lifeMs?: number;
  now: Date;
}

/** The person with an address, or the first owner. A range of `membership_pkey`, with probes of `person_pkey`. */
const findPersonSql = `
  SELECT p.id, p.email FROM membership m JOIN person p ON p.id = m.person_id
  WHERE m.account_id = $1 AND CASE WHEN $2::text IS NULL THEN m.role = 'owner' ELSE p.email = $2 END
  ORDER BY m.created_at, p.id LIMIT 1`;

/** An account without people gets an owner. @returns undefined where the account has people, and none has the address */
export async function createSignInLink(options: SignInLinkOptions): Promise<SignInLink | undefined> {
  const { pool, account, dashboardUrl, lifeMs, now } = options;
  return withTransaction(pool, async (client) => {
    // Two commands at once must not make two owners.
    await client.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [account.id]);
    const wanted = options.email?.trim().toLowerCase();
    const { rows } = await client.query<{ id: string; email: string }>(findPersonSql, [account.id, wanted ?? null]);
    const person = rows[0] ?? (await makeOwner(client, account.id, wanted ?? account.email));
    if (!person) return undefined;
    const { token, expiresAt } = await createLink(client, {
      purpose: "sign_in",
      email: person.email,
      personId: person.id,
      accountId: account.id,
      now,
      ...(lifeMs !== undefined && { lifeMs }),
    });
    return { url: linkUrl(dashboardUrl, token), email: person.email, expiresAt };
  });
}

async function makeOwner(client: pg.ClientBase, accountId: string, email: string) {
  const { rowCount } = await client.query("SELECT FROM membership WHERE account_id = $1 LIMIT 1", [accountId]);
  if (rowCount !== 0) return undefined;
  const known = await findPersonByEmail(client, email);
  const id = known?.id ?? (await addPerson(client, { email, name: email.split("@")[0] ?? email }));
  if (id === undefined) throw new Error("The address got a person in this moment; try again");
  await joinAccount(client, { accountId, personId: id, role: "owner" });
  return { id, email };
}

export function linkUrl(dashboardUrl: string, token: string): string {
  return `${dashboardUrl.replace(/\/+$/, "")}/dashboard/link/${token}`;
}
