import { resolveAccount, resolveSite } from "../arguments/resolve-owner.js";
import { type CommandContext, type CommandDatabase, onDatabase } from "./command-context.js";

type OwnerId<Options, Name extends string> = Options extends Record<Name, string> ? string : string | undefined;

/** The database, with the ids that `--account` and `--site` name. */
export interface OwnedDatabase<Options> extends CommandDatabase {
  now: Date;
  accountId: OwnerId<Options, "account">;
  siteId: OwnerId<Options, "site">;
}

/** Does some work on the database for the account and the site of the options, by id, address or domain. */
export function onOwner<Options extends object, T>(
  context: CommandContext,
  options: Options,
  work: (database: OwnedDatabase<Options>) => Promise<T>,
): Promise<T> {
  const { account, site } = options as { account?: string; site?: string };
  return onDatabase(context, async (database) => {
    const accountId = account === undefined ? undefined : (await resolveAccount(database.prisma, account)).id;
    const siteId = site === undefined ? undefined : (await resolveSite(database.pool, site)).id;
    const owners = { now: context.now(), accountId, siteId } as Omit<OwnedDatabase<Options>, keyof CommandDatabase>;
    return work(Object.assign(database, owners));
  });
}
