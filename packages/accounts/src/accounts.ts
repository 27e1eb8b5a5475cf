import { createUuidV7, isUuid } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import { isPlanId, type PlanId } from "@waymark/plan";

/** An account as it is shown: no secrets in it. */
export interface Account {
  id: string;
  email: string;
  plan: PlanId;
}

/** What was asked for cannot be done; the message is a sentence for the person who asked. */
export class AccountError extends Error {
  override name = "AccountError";
}

/** One @, something on both sides, no white space; whether mail arrives is known only by sending it. RFC 5321 for 254. */
const emailPattern = /^[^\s@\p{Cc}<>(),;:"[\]\\]+@[^\s@\p{Cc}<>(),;:"[\]\\]+$/u;
const maxEmailLength = 254;

const uuid = createUuidV7();

/**
 * Creates an account. Addresses are kept in lower case, since they identify the account.
 * @throws AccountError when the address is malformed or has an account
 */
export async function createAccount(prisma: PrismaClient, input: { email: string; plan: PlanId }): Promise<Account> {
  const email = readEmail(input.email);
  return withUniqueEmail(email, () => prisma.account.create({ data: { id: uuid(), email, plan: input.plan } }));
}

/**
 * Gives an account another address: it identifies the account, and failure mails go there from now on.
 * @throws AccountError when there is no such account, or the address is malformed or has another account
 */
export async function changeEmail(prisma: PrismaClient, id: string, newEmail: string): Promise<Account> {
  const email = readEmail(newEmail);
  await findAccount(prisma, id);
  return withUniqueEmail(email, () => prisma.account.update({ where: { id }, data: { email } }));
}

function readEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (emailPattern.test(email) && email.length <= maxEmailLength) return email;
  throw new AccountError(`'${text}' is not an email address.`);
}

async function withUniqueEmail(email: string, write: () => Promise<StoredAccount>): Promise<Account> {
  try {
    return present(await write());
  } catch (error) {
    // Prisma's code for a unique index. Its error class would bring the whole client into services that never use it.
    if ((error as { code?: unknown } | null)?.code === "P2002") {
      throw new AccountError(`There is an account with the address ${email} already.`, { cause: error });
    }
    throw error;
  }
}

/** All accounts, oldest first. */
export async function listAccounts(prisma: PrismaClient): Promise<Account[]> {
  const accounts = await prisma.account.findMany({ orderBy: { id: "asc" } });
  return accounts.map(present);
}

/**
 * Moves an account to a plan; every running service knows within a second, by the database's notification.
 * @throws AccountError when there is no such account
 */
export async function changePlan(prisma: PrismaClient, id: string, plan: PlanId): Promise<Account> {
  await findAccount(prisma, id);
  return present(await prisma.account.update({ where: { id }, data: { plan } }));
}

/** @throws AccountError when there is no account with the id */
export async function findAccount(prisma: PrismaClient, id: string): Promise<Account> {
  const account = isUuid(id) ? await prisma.account.findUnique({ where: { id } }) : null;
  if (!account) throw new AccountError(`There is no account '${id}'. 'waymark account list' shows them.`);
  return present(account);
}

interface StoredAccount {
  id: string;
  email: string;
  plan: string;
}

function present(account: StoredAccount): Account {
  if (!isPlanId(account.plan)) throw new Error(`account ${account.id} has the unknown plan ${account.plan}`);
  return { id: account.id, email: account.email, plan: account.plan };
}
