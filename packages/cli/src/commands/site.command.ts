import {
  claimSite,
  createSite,
  type DomainConflict,
  findDomainConflicts,
  listSites,
  readSlot,
  renameSite,
  shareSite,
} from "@waymark/accounts";
import { addressOf } from "@waymark/auth";
import { withTransaction } from "@waymark/database";
import { maxSitesPerDomain } from "@waymark/web-stats/analytics";
import type { Command } from "commander";
import { onAccount, onSite, resolveSite } from "../arguments/resolve-owner.js";
import { laterForms, parseLaterTime, type TimeArgument } from "../arguments/values.js";
import { type Act, onDatabase } from "../context/command-context.js";
import { CommandError, UsageError } from "../context/command-error.js";
import { dataFolderOf, readLocalSystem } from "../local-system.js";
import { formatFields, formatTable } from "../output/terminal-text.js";
import { deleteSite } from "./confirmed-erasure.js";

const deleteHelp = `
The command removes the site with its keys, then events and statistics in batches. Ctrl-C stops it after the current batch; the
worker removes the rest.

Example:
  $ waymark site delete --site example.com --yes`;

const renameHelp = `
Examples:
  $ waymark site rename --site example.com --name "My shop"
  $ waymark site rename --site example.com --domain shop.example`;

const claimHelp = `
Other accounts' sites of the domain get no further events; past events stay where they are.

Example:
  $ waymark site claim --site ID`;

const createHelp = `
The command prints the script tag for the site's pages. The tag names the collector of --collector, COLLECTOR_URL or the
running local system.

Example:
  $ waymark site create --account me@example.com --domain example.com --name "My site"`;

const shareHelp = `
The key reads the statistics of this site alone, with the Pro plan. It shows in 'waymark key list', and 'waymark key revoke'
ends it.

Examples:
  $ waymark site share --site example.com
  $ waymark site share --site example.com --until 30d --name "our agency"`;

/** `waymark site create|list|share|rename|claim|delete`. */
export function addSiteCommands(program: Command, act: Act): void {
  const site = program
    .command("site")
    .description(
      "create the sites of an account, list them, share their statistics, rename them, claim their domains, delete them",
    );

  site
    .command("create")
    .description("create a site and print its script tag")
    .requiredOption("--account <account>", "its account, by id or address")
    .requiredOption("--domain <domain>", "its domain, such as example.com; its own pages are no referrers")
    .requiredOption("--name <name>", "its name in lists")
    .option("--shared", "allow a domain of another account; both accounts get its events")
    .option("--collector <url>", "the collector's public URL, for the script tag")
    .addHelpText("after", createHelp)
    .action(
      act(async (context, options: CreateOptions) => {
        const { domain, name, shared } = options;
        const collectorUrl = await findCollectorUrl(context.env, options.collector);
        const {
          site: value,
          sameDomain,
          slot,
        } = await onAccount(context, options.account, async (pool, accountId) => {
          const made = await createSite(pool, { accountId, domain, name, whenTaken: shared ? "share" : "refuse" });
          return { ...made, slot: await readSlot(pool, accountId) };
        });
        if (sameDomain > 0) {
          context.stderr.write(`Note: the domain ${value.domain} has another site. Both get its events.\n`);
        }
        const tag = scriptTag(collectorUrl, { domain: value.domain, slot });
        return { value, text: `${formatFields({ ...value })}\n\nPaste this into the pages' <head>:\n${tag}` };
      }),
    );

  site
    .command("list")
    .description("list an account's sites, oldest first")
    .requiredOption("--account <account>", "the account's id or address")
    .action(
      act(async (context, { account }: { account: string }) => {
        const { value, conflicts } = await onAccount(context, account, async (pool, id) => ({
          value: await listSites(pool, id),
          conflicts: await findDomainConflicts(pool, id),
        }));
        for (const conflict of conflicts) context.stderr.write(`Note: ${explainConflict(conflict)}\n`);
        const text = formatTable(["id", "domain", "name"], value);
        return { value, text: value.length > 0 ? text : "The account has no sites. 'waymark site create' makes one." };
      }),
    );
  addShareCommand(site, act);
  addChangeCommands(site, act);
}

interface ShareOptions {
  site: string;
  until?: TimeArgument;
  name: string;
}

function addShareCommand(site: Command, act: Act): void {
  site
    .command("share")
    .description("make a key that reads one site's statistics and show it, this once")
    .requiredOption("--site <site>", "the site's id or domain")
    .option("--until <time>", `its end: ${laterForms}`, parseLaterTime)
    .option("--name <name>", "a name to recognise it by", "shared statistics")
    .addHelpText("after", shareHelp)
    .action(
      act(async (context, { site: text, until, name }: ShareOptions) => {
        const now = context.now();
        const expiresAt = until ? new Date(until(now)) : null;
        if (expiresAt && expiresAt <= now) throw new UsageError("--until must be in the future.");
        const { value, domain } = await onDatabase(context, async ({ pool }) => {
          const { id: siteId, domain } = await resolveSite(pool, text);
          return { value: await shareSite(pool, { siteId, name, expiresAt }), domain };
        });
        const rest = `It reads the statistics of ${domain} and nothing else.`;
        const keep = "Keep the key now: only its hash is stored, it cannot be shown again.";
        return { value, text: `${formatFields({ ...value })}\n\n${keep}\n${rest}` };
      }),
    );
}

interface CreateOptions {
  account: string;
  domain: string;
  name: string;
  shared?: true;
  collector?: string;
}

interface RenameOptions {
  site: string;
  name?: string;
  domain?: string;
  shared?: true;
}

function addChangeCommands(site: Command, act: Act): void {
  site
    .command("rename")
    .description("change a site's name, domain, or both; its events and statistics stay")
    .requiredOption("--site <site>", "the site's id or present domain")
    .option("--name <name>", "its new name in lists")
    .option("--domain <domain>", "its new domain; the collector knows within ten seconds")
    .option("--shared", "allow a domain of another account; both accounts get its events")
    .addHelpText("after", renameHelp)
    .action(
      act(async (context, options: RenameOptions) => {
        const { name, domain, shared } = options;
        if (name === undefined && domain === undefined) throw new UsageError("Give --name, --domain, or both.");
        const value = await onSite(context, options.site, (pool, siteId) =>
          renameSite(pool, { siteId, name, domain, whenTaken: shared ? "share" : "refuse" }),
        );
        return { value, text: formatFields({ ...value }) };
      }),
    );

  site
    .command("claim")
    .description("give a site the events of its domain, by your word that its account has the domain")
    .requiredOption("--site <site>", "the site's id")
    .option("--shared", "leave other accounts' sites of the domain their events")
    .addHelpText("after", claimHelp)
    .action(
      act(async (context, { site: text, shared }: { site: string; shared?: true }) => {
        const value = await onSite(context, text, async (pool, siteId) => {
          const isShared = shared === true;
          return withTransaction(pool, async (client) => (await claimSite(client, { siteId }, { isShared })).site);
        });
        return { value, text: `The site ${value.id} gets the events of ${value.domain} within ten seconds.` };
      }),
    );

  site
    .command("delete")
    .description("remove a site with its events and statistics, for good")
    .requiredOption("--site <site>", "the site's id or domain")
    .option("--yes", "remove it; without --yes the command only lists what it would remove")
    .addHelpText("after", deleteHelp)
    .action(
      act((context, { site, yes }: { site: string; yes?: true }) =>
        onDatabase(context, (database) => deleteSite(context, database, { site, isConfirmed: yes === true })),
      ),
    );
}

function explainConflict({ id, domain, older, isProven }: DomainConflict): string {
  if (!isProven) {
    return `the site ${id} gets no events: another account has the domain ${domain}, and this one did not prove it.`;
  }
  if (older >= maxSitesPerDomain) {
    return `the site ${id} gets no events: ${maxSitesPerDomain} older sites have the domain ${domain}.`;
  }
  return `another account has a site with the domain ${domain} too, and gets the same events.`;
}

/** Used when nothing names a collector. */
const placeholderUrl = "https://collector.example.com";

/**
 * The collector's public URL.
 * @param url of the option; the default is `COLLECTOR_URL`, then the running local system's collector, then a placeholder
 * @throws CommandError when it is not an HTTP URL
 */
async function findCollectorUrl(env: NodeJS.ProcessEnv, url = env["COLLECTOR_URL"]): Promise<string> {
  if (url && !(/^https?:\/\//.test(url) && URL.canParse(url))) {
    throw new CommandError("--collector or COLLECTOR_URL must be a URL that starts with http:// or https://.");
  }
  return url || (await localCollectorUrl(env)) || placeholderUrl;
}

/** The tag for the pages of a site. @param slot of its account */
function scriptTag(collectorUrl: string, { domain, slot }: { domain: string; slot: string }): string {
  const { href } = new URL(addressOf(collectorUrl, slot));
  return `<script defer src="${href.replace(/\/+$/, "")}/js/script.js" data-domain="${domain}"></script>`;
}

/** Without `DATABASE_URL` commands work on the local system. */
async function localCollectorUrl(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (env["DATABASE_URL"]) return undefined;
  const local = await readLocalSystem(dataFolderOf(env));
  return local?.collectorUrl;
}
