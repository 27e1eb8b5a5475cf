import { drawSlot, type Slots } from "@waymark/auth";
import { createUuidV7, isUuid, type Queryable } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import { AppError, type ErrorCode, errorCodes } from "@waymark/errors";
import { isPlanId, type PlanId } from "@waymark/plan";
import { normaliseEmail, textProblem } from "@waymark/service/fields";
import type pg from "pg";

/** Each refusal as the dashboard answers it; a `field` is the one of its request. */
const refusals = {
  unknown_account: { code: "not_signed_in" },
  unknown_key: { code: "not_found" },
  unknown_site: { code: "site_not_found" },
  too_many_keys: { code: "account_full" },
  too_many_sites: { code: "account_full" },
  too_many_unproven: { code: "account_full" },
  invalid_email: { code: "validation_failed", field: "email" },
  email_taken: { code: "validation_failed", field: "email" },
  invalid_name: { code: "validation_failed", field: "name" },
  invalid_scope: { code: "validation_failed", field: "scope" },
  invalid_domain: { code: "validation_failed", field: "domain" },
  domain_taken: { code: "validation_failed", field: "domain" },
  domain_full: { code: "validation_failed", field: "domain" },
} as const satisfies Record<string, { code: ErrorCode; field?: string }>;

export type Refusal = keyof typeof refusals;

/** A refused request about an account, its keys or its sites. The message is a sentence for the operator. */
export class AccountError extends AppError {
  override name = "AccountError";

  constructor(
    readonly refusal: Refusal,
    message: string,
    { limit, cause }: { limit?: number; cause?: unknown } = {},
  ) {
    const { code, field }: { code: ErrorCode; field?: string } = refusals[refusal];
    const details = { ...(field && { fields: { [field]: message } }), ...(limit && { limit, reason: message }) };
    super(code, { message, details, cause });
  }

  override get body() {
    return { ...super.body, error: errorCodes[this.code].message };
  }
}

const maxNameLength = 200;

/** @throws AccountError `invalid_name` for a name that is blank, over 200 characters or not storable (NUL, lone surrogates) */
export function readName(name: string, owner: "key" | "site"): string {
  if (name.trim() !== "" && name.length <= maxNameLength && !textProblem(name)) return name;
  throw new AccountError("invalid_name", `A ${owner}'s name has 1 to ${maxNameLength} characters.`);
}

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

export function unknownAccount(id: string): AccountError {
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
