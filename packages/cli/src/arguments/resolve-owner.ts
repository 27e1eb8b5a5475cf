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
