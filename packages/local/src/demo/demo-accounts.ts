import { readFile, rename, writeFile } from "node:fs/promises";
import { type Account, createAccount, createSite, issueKey, listKeys, listSites, revokeKey } from "@waymark/accounts";
import { type KeyService, keyServices } from "@waymark/auth";
import type { PrismaClient } from "@waymark/database/prisma";
import { type PlanId, planIds } from "@waymark/plan";

/** A demo account: its keys, and its site with visits. */
export interface DemoAccount {
  id: string;
  email: string;
  keys: Record<KeyService, string>;
  site: { id: string; domain: string };
}

/** The demo's accounts by plan. */
export type DemoAccounts = Record<PlanId, DemoAccount>;

/** What is kept between runs, in a file that only its user can read: keys are stored nowhere else in the clear. */
export interface DemoState {
  keys: Record<string, { id: string; key: string }>;
  /** When the demo was made: its visits end then. */
  end: string;
  /** Sites whose visits are loaded, by id, and accounts whose runs were sent. */
  loaded: string[];
}

const demos = {
  free: { email: "demo-free@localhost", domain: "adver.tools", name: "Demo: visits to adver.tools" },
  pro: { email: "demo-pro@localhost", domain: "semicomplete.com", name: "Demo: visits to semicomplete.com" },
} as const satisfies Record<PlanId, object>;

const keyName = "demo";

/** The accounts, keys and sites of the demo: found again, or made where something is missing. */
export async function prepareAccounts(prisma: PrismaClient, state: DemoState): Promise<DemoAccounts> {
  const accounts: Partial<DemoAccounts> = {};
  for (const plan of planIds) accounts[plan] = await prepareAccount(prisma, state, plan);
  return accounts as DemoAccounts;
}

async function prepareAccount(prisma: PrismaClient, state: DemoState, plan: PlanId): Promise<DemoAccount> {
  const { email, domain, name } = demos[plan];
  const found = await prisma.account.findUnique({ where: { email } });
  const { id }: Pick<Account, "id"> = found ?? (await createAccount(prisma, { email, plan }));
  const keys: Partial<DemoAccount["keys"]> = {};
  for (const service of keyServices) keys[service] = await prepareKey(prisma, state, id, service);
  const site =
    (await listSites(prisma, id)).find((it) => it.domain === domain) ??
    (await createSite(prisma, { accountId: id, domain, name })).site;
  return { id, email, keys: keys as DemoAccount["keys"], site: { id: site.id, domain } };
}

/** The key that was shown before, as long as the database knows it; otherwise a new one in place of older demo keys. */
async function prepareKey(prisma: PrismaClient, state: DemoState, accountId: string, service: KeyService) {
  const slot = `${accountId} ${service}`;
  const kept = state.keys[slot];
  const mine = (await listKeys(prisma, accountId)).filter((it) => it.service === service && it.revoked_at === null);
  if (kept && mine.some(({ id }) => id === kept.id)) return kept.key;
  for (const { id, name } of mine) if (name === keyName) await revokeKey(prisma, { keyId: id });
  const { id, key } = await issueKey(prisma, { accountId, service, name: keyName });
  state.keys[slot] = { id, key };
  return key;
}

/** Reads what an earlier run kept; a state of nothing, where there is none or it cannot be understood. */
export async function readDemoState(file: string, now: Date): Promise<DemoState> {
  const fresh: DemoState = { keys: {}, end: now.toISOString(), loaded: [] };
  try {
    return { ...fresh, ...(JSON.parse(await readFile(file, "utf8")) as Partial<DemoState>) };
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return fresh;
    throw error;
  }
}

/** Keeps the state, whole or not at all. */
export async function writeDemoState(file: string, state: DemoState): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
