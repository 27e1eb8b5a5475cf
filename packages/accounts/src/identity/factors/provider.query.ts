import type { Slots } from "@waymark/auth";
import { createUuidV7, withTransaction } from "@waymark/database";
import type pg from "pg";
import { recordForPerson } from "../audit.query.js";
import { dropSignUps, takeInvitations } from "../links/link.query.js";
import { join } from "../links/use-link.js";
import { addPerson, claimAccount, findPersonByEmail, homeAccountOf, verifyPerson } from "../people/person.query.js";
import { followProvider, leaveToProvider } from "../people/team.query.js";
import type { Role } from "../sessions/session.query.js";

/** `unproven`: the provider does not vouch for the address. `taken`: its person has another identity there, or its account people. */
export type ProviderRefusal = "unproven" | "closed" | "taken";

interface Identity {
  /** The provider's issuer, and its name of the person, which stays when addresses change. */
  issuer: string;
  subject: string;
  /** By the provider's claim, in the accounts joined by it; undefined where the installation reads none. */
  role?: Role | undefined;
  /** Asked for an unknown subject alone. The address is in lower case; none unless the provider has proven it. */
  readProfile(): Promise<{ email: string | undefined; name: string | undefined }>;
}

interface ArrivalOptions {
  pool: pg.Pool;
  slots: Slots;
  signUp: "open" | "invited";
  now(): Date;
}

const uuid = createUuidV7();

/** A probe of `credential_provider_subject_key`. */
const findSql = 'SELECT person_id AS "personId" FROM credential WHERE provider = $1 AND subject = $2';

/** One arrival of an identity at a time. */
const lockSql = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))";

/** Nothing where the person has another subject of the provider: `credential_person_id_provider_key` decides. */
const linkSql = `
  INSERT INTO credential (id, person_id, provider, subject) VALUES ($1, $2, $3, $4)
  ON CONFLICT (person_id, provider) DO NOTHING`;

/** Finds the person of a provider's identity, or by a proven address joins the identity to a person, known or new. */
export async function arriveByProvider({ pool, slots, signUp, now }: ArrivalOptions, identity: Identity) {
  const { issuer, subject, role, readProfile } = identity;
  const known = await findPerson(pool, identity);
  if (known !== undefined) {
    if (role) await withTransaction(pool, (client) => followProvider(client, known, role));
    return atHome(pool, known);
  }
  const { email, name } = await readProfile();
  if (email === undefined) return refuse("unproven");
  return withTransaction(pool, async (client) => {
    await client.query(lockSql, [`${issuer} ${subject}`]);
    const since = await findPerson(client, identity);
    if (since !== undefined) return atHome(client, since);
    const person = await findPersonByEmail(client, email);
    const arrived = person
      ? await atHome(client, person.id)
      : await welcome(client, { email, name: name ?? email, role, slots, signUp, now: now() });
    if ("refusal" in arrived) return arrived;
    const { personId } = arrived;
    if ((await client.query(linkSql, [uuid(), personId, issuer, subject])).rowCount !== 1) return refuse("taken");
    await verifyPerson(client, personId);
    if (person) await leaveToProvider(client, personId);
    if (person && role) await followProvider(client, personId, role);
    const action = { personId, action: "factor_added", subject: `identity at ${new URL(issuer).host}` } as const;
    await recordForPerson(client, action);
    return arrived;
  });
}

type Client = Parameters<typeof findPersonByEmail>[0];

const refuse = (refusal: ProviderRefusal) => ({ refusal });

async function findPerson(client: Client, { issuer, subject }: Identity): Promise<string | undefined> {
  return (await client.query<{ personId: string }>(findSql, [issuer, subject])).rows[0]?.personId;
}

async function atHome(client: Client, personId: string) {
  const accountId = await homeAccountOf(client, personId);
  return accountId === undefined ? refuse("closed") : { personId, accountId };
}

interface Newcomer extends Pick<ArrivalOptions, "slots" | "signUp"> {
  email: string;
  name: string;
  role: Role | undefined;
  now: Date;
}

/** Invitations decide, then `SIGN_UP`; the one person of an own account owns it. A refusal has written nothing. */
async function welcome(client: pg.ClientBase, { email, name, role, slots, signUp, now }: Newcomer) {
  const invitations = await takeInvitations(client, email, now);
  if (invitations.length === 0 && signUp === "invited") return refuse("closed");
  const own = invitations.length === 0 ? await claimAccount(client, email, slots) : undefined;
  const accountId = invitations[0]?.accountId ?? own;
  if (accountId === undefined) return refuse("taken");
  const personId = await addPerson(client, { email, name });
  if (personId === undefined) throw new Error("The address got a person in this moment; try again");
  const invited = invitations.map((each) => ({ ...each, role: role ?? each.role }));
  const joined = own === undefined ? invited : [{ accountId: own, role: "owner" as const }];
  for (const each of joined) await join(client, { ...each, personId, byProvider: true }, email);
  await dropSignUps(client, email);
  return { personId, accountId };
}
