import { type Account, createAccount, createSite, issueKey, listKeys, listSites, revokeKey } from "@waymark/accounts";
import { type KeyService, keyServices } from "@waymark/auth";
import { readJsonFile } from "@waymark/cli";
import type { PrismaClient } from "@waymark/database/prisma";
import { type PlanId, planIds } from "@waymark/plan";
import type pg from "pg";

interface DemoAccount {
  id: string;
  email: string;
  keys: Record<KeyService, string>;
  site: { id: string; domain: string };
}

export type DemoAccounts = Record<PlanId, DemoAccount>;

/** The demo's state between starts, in a file for its user alone: no other place has the keys in the clear. */
export interface DemoState {
  keys: Record<string, { id: string; key: string }>;
  /** The time of the demo's last visit: the first start. */
  end: string;
  /** Ids of sites with loaded visits and of accounts with sent traces. */
  loaded: string[];
}

const demos = {
  free: { email: "demo-free@waymark.localhost", domain: "adver.tools", name: "Demo: visits to adver.tools" },
  pro: { email: "demo-pro@waymark.localhost", domain: "semicomplete.com", name: "Demo: visits to semicomplete.com" },
} as const satisfies Record<PlanId, object>;

/** May set plans in the dashboard. */
export const demoOperator = demos.pro.email;

const keyName = "demo";

interface Database {
  pool: pg.Pool;
  prisma: PrismaClient;
}

export async function prepareAccounts(database: Database, state: DemoState): Promise<DemoAccounts> {
  const accounts: Partial<DemoAccounts> = {};
  for (const plan of planIds) accounts[plan] = await prepareAccount(database, state, plan);
  return accounts as DemoAccounts;
}

async function prepareAccount({ pool, prisma }: Database, state: DemoState, plan: PlanId): Promise<DemoAccount> {
  const { email, domain, name } = demos[plan];
  // Earlier demos had addresses that cannot sign in.
  const earlier = email.replace("@waymark.", "@");
  for (const table of ["account", "person"]) {
    await pool.query(`UPDATE ${table} SET email = $1 WHERE email = $2`, [email, earlier]);
  }
  const found = await prisma.account.findUnique({ where: { email } });
  const { id }: Pick<Account, "id"> = found ?? (await createAccount(prisma, { email, plan }));
  const keys: Partial<DemoAccount["keys"]> = {};
  for (const service of keyServices) keys[service] = await prepareKey(pool, state, id, service);
  const site =
    (await listSites(pool, id)).find((it) => it.domain === domain) ??
    (await createSite(pool, { accountId: id, domain, name })).site;
  return { id, email, keys: keys as DemoAccount["keys"], site: { id: site.id, domain } };
}

/** The earlier key while it is valid in the database; otherwise a new one, and older demo keys are revoked. */
async function prepareKey(pool: pg.Pool, state: DemoState, accountId: string, service: KeyService) {
  const slot = `${accountId} ${service}`;
  const kept = state.keys[slot];
  const mine = (await listKeys(pool, accountId)).filter((it) => it.service === service && it.revoked_at === null);
  if (kept && mine.some(({ id }) => id === kept.id)) return kept.key;
  for (const { id, name } of mine) if (name === keyName) await revokeKey(pool, { keyId: id });
  const { id, key } = await issueKey(pool, { accountId, service, name: keyName });
  state.keys[slot] = { id, key };
  return key;
}

/** Reads the state of an earlier start; an empty one if the file is missing or malformed. */
export async function readDemoState(file: string, now: Date): Promise<DemoState> {
  return { keys: {}, end: now.toISOString(), loaded: [], ...(await readJsonFile<DemoState>(file)) };
}
