import { createAccount, createSite, issueKey } from "@waymark/accounts";
import { createSessionCookie, startSession } from "@waymark/accounts/identity";
import { createApiKey } from "@waymark/auth";
import { createUuidV7 } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import type { ServiceName, System } from "./start-system.js";

interface People {
  /** A part of all names and texts of the tenant. */
  readonly mark: string;
  readonly accountId: string;
  readonly ownerId: string;
  readonly memberId: string;
}

/** An account with a site, its own keys, and the sessions of its owner and of a member. */
export interface Tenant extends People, Awaited<ReturnType<typeof makeProofs>> {
  readonly siteId: string;
  readonly domain: string;
  /** Ids of answers, by the parts of their paths. */
  readonly known: Map<string, string[]>;
}

export type Store = Pick<System, "pool" | "url">;

const uuid = createUuidV7();

/** @param mark a part of a domain and of all texts of the tenant */
export async function createTenant(system: Store, mark: string, plan: "free" | "pro" = "pro"): Promise<Tenant> {
  const { pool } = system;
  const { id: accountId } = await createAccount(createPrisma(pool), { email: `${mark}@example.com`, plan });
  await pool.query("UPDATE account SET name = $2 WHERE id = $1", [accountId, `account ${mark}`]);
  const domain = `${mark}.example.com`;
  const { site } = await createSite(pool, { accountId, domain, name: `site ${mark}` });
  const own = { mark, accountId, siteId: site.id, domain, ownerId: uuid(), memberId: uuid() };
  return { ...own, known: new Map([["site", [site.id]]]), ...(await makeProofs(system, own)) };
}

/** More keys than an account may have: each has 60 requests a minute. */
export async function makeStatisticsKeys(pool: System["pool"], accountId: string, count: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => createApiKey("analytics"));
  const added =
    "INSERT INTO api_key (id, account_id, service, name, hash, hint) VALUES ($1, $2, 'analytics', 'b', $3, $4)";
  for (const { hash, hint } of keys) await pool.query(added, [uuid(), accountId, hash, hint]);
  return keys.map(({ key }) => key);
}

/** Gives a tenant new keys and sessions. */
export async function renewProofs(system: Store, tenant: Tenant): Promise<void> {
  Object.assign(tenant, await makeProofs(system, tenant));
}

async function makeProofs({ pool, url }: Store, { mark, accountId, ownerId, memberId }: People) {
  const keyOf = async (service: "trace" | "analytics") =>
    (await issueKey(pool, { accountId, service, name: `key ${mark}` })).key;
  const { write } = createSessionCookie(new URL(url("dashboard")));
  const sessionOf = async (personId: string, role: "owner" | "member") => {
    await addPerson(pool, { mark, accountId, personId, role });
    return write(await startSession(pool, { personId, accountId, now: new Date() })).split(";")[0] ?? "";
  };
  return {
    traceKey: await keyOf("trace"),
    statisticsKey: await keyOf("analytics"),
    /** The `Cookie` header of the owner, and of a member. */
    cookie: await sessionOf(ownerId, "owner"),
    memberCookie: await sessionOf(memberId, "member"),
  };
}

/** Adds a person to an account, also one that was removed from it. */
async function addPerson(pool: System["pool"], person: Record<"personId" | "accountId" | "mark" | "role", string>) {
  const { personId, accountId, mark, role } = person;
  const added = "INSERT INTO person (id, email, name, is_verified) VALUES ($1, $2, $3, true) ON CONFLICT DO NOTHING";
  await pool.query(added, [personId, `${role}-${mark}@example.com`, `${role} ${mark}`]);
  const joined = `INSERT INTO membership (account_id, person_id, role) VALUES ($1, $2, $3)
    ON CONFLICT (account_id, person_id) DO UPDATE SET role = $3`;
  await pool.query(joined, [accountId, personId, role]);
}

export function proofOf(tenant: Tenant, service: ServiceName, origin: string): Record<string, string> {
  switch (service) {
    case "trace-api":
    case "collector":
      return { Authorization: `Bearer ${tenant.traceKey}` };
    case "analytics-api":
      return { Authorization: `Bearer ${tenant.statisticsKey}` };
    case "dashboard":
      return { Cookie: tenant.cookie, Origin: origin };
  }
}

const maxKnownPerNoun = 200;

/** Keeps the ids of an answer under the parts of its path, for later requests. */
export function learnIds({ known }: Tenant, path: string, body: string): void {
  const ids = new Set(
    body.slice(0, 65_536).match(/[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g),
  );
  if (ids.size === 0) return;
  const nouns = path.split("/").filter((part) => part !== "" && !part.startsWith("{"));
  for (const noun of ["any", ...nounsOfList(nouns.at(-1) ?? "")]) {
    const list = known.get(noun) ?? [];
    for (const id of ids) if (list.length < maxKnownPerNoun && !list.includes(id)) list.push(id);
    known.set(noun, list);
  }
}

/** `alert-rules` holds rules, as the paths of one name them. */
function nounsOfList(name: string): string[] {
  return name === "people" ? ["person", "invitation"] : [name.replace(/^.*-/, "").replace(/s$/, "")];
}

/** Fills ids of a tenant into a planned text; an id that does not exist where there is none. */
export function fillIds({ known }: Pick<Tenant, "known">, text: string): string {
  return text.replace(/\{\{([\w-]+):(\d+)\}\}/g, (_all, noun: string, position: string) => {
    const list = known.get(noun) ?? known.get("any") ?? [];
    return list[Number(position) % Math.max(1, list.length)] ?? "019c13f2-6c00-7cc3-98c4-dc0c0c07398f";
  });
}
