import { drawSlot, type Slots } from "@waymark/auth";
import { createUuidV7, isUuid, type Queryable } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import { isPlanId, type PlanId, utcMonth } from "@waymark/plan";
import { normaliseEmail } from "@waymark/service/fields";
import { getUsage, type Instrumentation, type KeepMode, type Kept, presentUsage, setKeep } from "@waymark/traces";
import type pg from "pg";
import { AccountError } from "./account-error.js";

export interface Account {
  id: string;
  email: string;
  plan: PlanId;
}

const uuid = createUuidV7();

/** Creates an account with an address in lower case, in one of the cell's slots. @throws AccountError `invalid_email`, `email_taken` */
export async function createAccount(
  prisma: PrismaClient,
  input: { email: string; plan: PlanId; slots?: Slots },
): Promise<Account> {
  const email = readEmail(input.email);
  const data = { id: uuid(), email, plan: input.plan, slot: drawSlot(input.slots) };
  return withUniqueEmail(email, () => prisma.account.create({ data }));
}

/** Changes the address; the alerts go there too. @throws AccountError `unknown_account`, `invalid_email`, `email_taken` */
export async function changeEmail(prisma: PrismaClient, id: string, newEmail: string): Promise<Account> {
  const email = readEmail(newEmail);
  await findAccount(prisma, id);
  return withUniqueEmail(email, () => prisma.account.update({ where: { id }, data: { email } }));
}

function readEmail(text: string): string {
  const email = normaliseEmail(text);
  if (email !== undefined) return email;
  throw new AccountError("invalid_email", `'${text}' is not an email address.`);
}

async function withUniqueEmail(email: string, write: () => Promise<StoredAccount>): Promise<Account> {
  try {
    return present(await write());
  } catch (error) {
    // Prisma's code for a unique index. Importing its error class would load the whole client into services without Prisma.
    if ((error as { code?: unknown } | null)?.code === "P2002") {
      throw new AccountError("email_taken", `There is an account with the address ${email} already.`, { cause: error });
    }
    throw error;
  }
}

export async function listAccounts(prisma: PrismaClient): Promise<Account[]> {
  const accounts = await prisma.account.findMany({ orderBy: { id: "asc" } });
  return accounts.map(present);
}

/** @throws AccountError `unknown_account` */
export async function findAccount(prisma: PrismaClient, id: string): Promise<Account> {
  const account = isUuid(id) ? await prisma.account.findUnique({ where: { id } }) : null;
  if (!account) throw unknownAccount(id);
  return present(account);
}

/** @param email in any case. @throws AccountError `unknown_account`, `invalid_email` */
export async function findAccountByEmail(prisma: PrismaClient, email: string): Promise<Account> {
  const account = await prisma.account.findUnique({ where: { email: readEmail(email) } });
  if (!account) throw new AccountError("unknown_account", `There is no account with the address ${email}.`);
  return present(account);
}

interface StoredAccount {
  id: string;
  email: string;
  plan: string;
}

function present(account: StoredAccount): Account {
  const { id, email, plan } = account;
  if (!isPlanId(plan)) throw new Error(`account ${id} has the unknown plan ${plan}`);
  return { id, email, plan };
}

/** A probe of `account_pkey`, as are the statements below. @throws AccountError `unknown_account` */
async function probe<Row extends pg.QueryResultRow>(db: Queryable, sql: string, id: string, ...values: string[]) {
  const { rows } = isUuid(id) ? await db.query<Row>(sql, [id, ...values]) : { rows: [] };
  if (!rows[0]) throw unknownAccount(id);
  return rows[0];
}

function unknownAccount(id: string): AccountError {
  return new AccountError("unknown_account", `There is no account '${id}'.`);
}

/** In a transaction, writers of one account's keys or sites wait for each other. @throws AccountError `unknown_account` */
export function lockAccount(database: Queryable, id: string): Promise<{ slot: string }> {
  return probe<{ slot: string }>(database, "SELECT slot FROM account WHERE id = $1 FOR NO KEY UPDATE", id);
}

export async function readSlot(database: Queryable, id: string): Promise<string> {
  return (await probe<{ slot: string }>(database, "SELECT slot FROM account WHERE id = $1", id)).slot;
}

/** @throws AccountError `unknown_account` */
export async function requireAccount(database: Queryable, id: string): Promise<void> {
  await probe(database, "SELECT FROM account WHERE id = $1", id);
}

/** @throws AccountError `unknown_account` */
export async function findPlan(database: Queryable, id: string): Promise<Account> {
  return present(await probe<StoredAccount>(database, "SELECT id, email, plan FROM account WHERE id = $1", id));
}

/** Moves an account to a plan; a trigger tells running services within a second. @throws AccountError `unknown_account` */
export async function changePlan(database: Queryable, id: string, plan: PlanId): Promise<Account> {
  const sql = "UPDATE account SET plan = $2 WHERE id = $1 RETURNING id, email, plan";
  return present(await probe<StoredAccount>(database, sql, id, plan));
}

/** Sets which traces of OpenTelemetry it keeps. @throws AccountError `unknown_account` */
export async function changeKeep(
  database: Queryable,
  id: string,
  keep: KeepMode,
  leaveOut?: readonly Instrumentation[],
): Promise<Account & Kept> {
  const account = await findPlan(database, id);
  const kept = await setKeep(database, id, { keep, leave_out: leaveOut });
  if (!kept) throw unknownAccount(id);
  return { ...account, ...kept };
}

/** An account's use of its plan in the UTC month of `now`, as `GET /usage` of the trace API. @throws AccountError `unknown_account` */
export async function readPlanUsage(pool: pg.Pool, accountId: string, now: Date) {
  const { plan } = await findPlan(pool, accountId);
  const month = utcMonth(now);
  return presentUsage(plan, await getUsage(pool, { accountId, month: month.firstDay }), month);
}

export type Usage = Awaited<ReturnType<typeof readUsage>>;

export async function readUsage(pool: pg.Pool, accountId: string, now: Date) {
  const { email } = await findPlan(pool, accountId);
  const { plan, month, traces, bytes, agents } = await readPlanUsage(pool, accountId, now);
  const short = <Limit>({ current, limit }: { current: number; limit: Limit }) => ({ current, limit });
  return {
    account_id: accountId,
    email,
    plan,
    month,
    traces: short(traces),
    bytes: short(bytes),
    agents: short(agents),
    resets_at: traces.resets_at,
    resets_in_seconds: utcMonth(now).secondsLeft,
  };
}

/** Enough for a warning; counting millions would take a minute. */
const maxCountedTraces = 10_000;

/** Ranges of `site_account_id_idx`, `api_key_account_id_idx`, each site's goals and funnels and, up to a bound, `trace_pkey`. */
const countOwnedSql = `
  SELECT (SELECT count(*)::int FROM site WHERE account_id = $1) AS sites,
    (SELECT count(*)::int FROM api_key WHERE account_id = $1) AS keys,
    (SELECT count(*)::int FROM goal WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)) AS goals,
    (SELECT count(*)::int FROM funnel WHERE site_id IN (SELECT id FROM site WHERE account_id = $1)) AS funnels,
    (SELECT count(*)::int FROM (SELECT FROM trace WHERE account_id = $1 LIMIT $2 + 1) AS counted) AS traces`;

const countOwnedBySiteSql = `
  SELECT (SELECT count(*)::int FROM goal WHERE site_id = $1) AS goals,
    (SELECT count(*)::int FROM funnel WHERE site_id = $1) AS funnels`;

export type OwnedBySite = Awaited<ReturnType<typeof countOwnedBySite>>;
export type Owned = Awaited<ReturnType<typeof countOwned>>;

/** Counts what an account has, to warn before an erasure; at most 10,000 traces. */
export async function countOwned(pool: pg.Pool, accountId: string) {
  type Counts = Record<"sites" | "keys" | "goals" | "funnels" | "traces", number>;
  const { rows } = await pool.query<Counts>(countOwnedSql, [accountId, maxCountedTraces]);
  const { traces = 0, sites = 0, keys = 0, goals = 0, funnels = 0 } = rows[0] ?? {};
  const counted = { traces: Math.min(traces, maxCountedTraces), hasMoreTraces: traces > maxCountedTraces };
  return { sites, keys, goals, funnels, ...counted };
}

export async function countOwnedBySite(pool: pg.Pool, siteId: string) {
  const { rows } = await pool.query<Record<"goals" | "funnels", number>>(countOwnedBySiteSql, [siteId]);
  return rows[0] ?? { goals: 0, funnels: 0 };
}
