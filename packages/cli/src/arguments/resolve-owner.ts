import {
  type Account,
  findAccount,
  findAccountByEmail,
  findSite,
  findSitesOfDomain,
  type Site,
} from "@waymark/accounts";
import { isUuid } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import type pg from "pg";
import { type CommandContext, onDatabase } from "../context/command-context.js";
import { CommandError } from "../context/command-error.js";
import { printable } from "../output/terminal-text.js";

/**
 * Finds an account by its id or its address.
 * @throws AccountError `unknown_account`
 */
export function resolveAccount(prisma: PrismaClient, text: string): Promise<Account> {
  return text.includes("@") ? findAccountByEmail(prisma, text) : findAccount(prisma, text);
}

/**
 * Finds a site by its id or its domain.
 * @throws AccountError `unknown_site`; CommandError with the ids when several sites have the domain
 */
export async function resolveSite(pool: pg.Pool, text: string): Promise<Site> {
  if (isUuid(text) || !/[.:]|^localhost$/i.test(text)) return findSite(pool, { siteId: text });
  const [site, ...others] = await findSitesOfDomain(pool, text);
  if (!site) throw new CommandError(`There is no site with the domain '${text}'. 'waymark site list' shows them.`);
  if (others.length === 0) return site;
  const candidates = [site, ...others].map(({ id, name }) => `${id} (${printable(name)})`);
  throw new CommandError(`Several sites have the domain ${site.domain}. Give the id of one: ${candidates.join(", ")}.`);
}

/** The id of what an option names; undefined where the option may be missing. */
type IdOf<Text> = Text extends string ? string : undefined;

/** Does some work on the database for an account, by its id or its address. */
export function onAccount<Text extends string | undefined, T>(
  context: CommandContext,
  text: Text,
  work: (pool: pg.Pool, accountId: IdOf<Text>, prisma: PrismaClient) => Promise<T>,
): Promise<T> {
  return onDatabase(context, async ({ pool, prisma }) => {
    const id = text === undefined ? undefined : (await resolveAccount(prisma, text)).id;
    return work(pool, id as IdOf<Text>, prisma);
  });
}

/** Does some work on the database for a site, by its id or its domain. */
export function onSite<Text extends string | undefined, T>(
  context: CommandContext,
  text: Text,
  work: (pool: pg.Pool, siteId: IdOf<Text>) => Promise<T>,
): Promise<T> {
  return onDatabase(context, async ({ pool }) => {
    const id = text === undefined ? undefined : (await resolveSite(pool, text)).id;
    return work(pool, id as IdOf<Text>);
  });
}
