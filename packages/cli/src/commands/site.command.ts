import {
  claimSite,
  countCosts,
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
import { resolveSite } from "../arguments/resolve-owner.js";
import { laterForms, parseLaterTime } from "../arguments/values.js";
import type { Group, TopCommand } from "../context/command-builder.js";
import { onDatabase } from "../context/command-context.js";
import { onOwner } from "../context/on-owner.js";
import { findPublicUrl } from "../local-system.js";
import { formatFields, listing } from "../output/terminal-text.js";
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

const costsHelp = `
The tracker's waymark.visit() gives a token of the day, which the site's agents send with their traces. The worker sums a day the
night after, in groups of at least five visitors, and keeps nothing of a single visit.

Example:
  $ waymark site costs --site example.com`;

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

const list = listing(["id", "domain", "name"], "The account has no sites. 'waymark site create' makes one.");

export function declareCommand(command: TopCommand): void {
  const site = command.group();
  site("create", "create a site and print its script tag", createHelp)
    .required("--account <account>", "its account, by id or address")
    .required("--domain <domain>", "its domain, such as example.com; its own pages are no referrers")
    .required("--name <name>", "its name in lists")
    .option("--shared", "allow a domain of another account; both accounts get its events")
    .option("--collector <url>", "the collector's public URL, for the script tag")
    .run(async (context, options) => {
      const { domain, name, shared } = options;
      const url = options.collector ?? context.env["COLLECTOR_URL"];
      const source = "--collector or COLLECTOR_URL";
      const found = await findPublicUrl(context.env, { url, source, part: "collectorUrl" });
      const made = await onOwner(context, options, async ({ pool, accountId }) => ({
        ...(await createSite(pool, { accountId, domain, name, whenTaken: shared ? "share" : "refuse" })),
        slot: await readSlot(pool, accountId),
      }));
      const { site: value, sameDomain, slot } = made;
      if (sameDomain > 0) {
        context.stderr.write(`Note: the domain ${value.domain} has another site. Both get its events.\n`);
      }
      const tag = scriptTag(found ?? placeholderUrl, { domain: value.domain, slot });
      return { value, text: `${formatFields(value)}\n\nPaste this into the pages' <head>:\n${tag}` };
    });
  site("list", "list an account's sites, oldest first")
    .required("--account <account>", "the account's id or address")
    .run(async (context, options) => {
      const { value, conflicts } = await onOwner(context, options, async ({ pool, accountId }) => ({
        value: await listSites(pool, accountId),
        conflicts: await findDomainConflicts(pool, accountId),
      }));
      for (const conflict of conflicts) context.stderr.write(`Note: ${explainConflict(conflict)}\n`);
      return { value, text: list(value) };
    });
  addShareCommand(site);
  addChangeCommands(site);
}

function addShareCommand(site: Group): void {
  site("share", "make a key that reads one site's statistics and show it, this once", shareHelp)
    .required("--site <site>", "the site's id or domain")
    .option("--until <time>", `its end: ${laterForms}`, { parse: parseLaterTime })
    .option("--name <name>", "a name to recognise it by", { default: "shared statistics" })
    .check(({ until }, now) => until && new Date(until(now)) <= now && "--until must be in the future.")
    .run(async (context, { site: text, until, name }) => {
      const expiresAt = until ? new Date(until(context.now())) : null;
      const { value, domain } = await onDatabase(context, async ({ pool }) => {
        const { id: siteId, domain } = await resolveSite(pool, text);
        return { value: await shareSite(pool, { siteId, name, expiresAt }), domain };
      });
      const rest = `It reads the statistics of ${domain} and nothing else.`;
      const keep = "Keep the key now: only its hash is stored, it cannot be shown again.";
      return { value, text: `${formatFields(value)}\n\n${keep}\n${rest}` };
    });
}

function addChangeCommands(site: Group): void {
  site("rename", "change a site's name, domain, or both; its events and statistics stay", renameHelp)
    .required("--site <site>", "the site's id or present domain")
    .option("--name <name>", "its new name in lists")
    .option("--domain <domain>", "its new domain; the collector knows within ten seconds")
    .option("--shared", "allow a domain of another account; both accounts get its events")
    .check(({ name, domain }) => name === undefined && domain === undefined && "Give --name, --domain, or both.")
    .query(
      ({ pool, siteId }, { name, domain, shared }) =>
        renameSite(pool, { siteId, name, domain, whenTaken: shared ? "share" : "refuse" }),
      formatFields,
    );
  site("claim", "give a site the events of its domain, by your word that its account has the domain", claimHelp)
    .required("--site <site>", "the site's id")
    .option("--shared", "leave other accounts' sites of the domain their events")
    .query(
      async ({ pool, siteId }, { shared }) => {
        const how = { isShared: shared === true };
        return (await withTransaction(pool, (client) => claimSite(client, { siteId }, how))).site;
      },
      ({ id, domain }) => `The site ${id} gets the events of ${domain} within ten seconds.`,
    );
  site("costs", "switch on, or off, what agents cost for its visits, by channel; off for a new site", costsHelp)
    .required("--site <site>", "the site's id or domain")
    .option("--off", "give no more tokens of visits; the sums stay")
    .query(
      ({ pool, siteId }, { off }) => withTransaction(pool, (client) => countCosts(client, { siteId }, off !== true)),
      formatFields,
    );
  site("delete", "remove a site with its events and statistics, for good", deleteHelp)
    .required("--site <site>", "the site's id or domain")
    .option("--yes", "remove it; without --yes the command only lists what it would remove")
    .run((context, options) => onDatabase(context, (database) => deleteSite(context, database, options)));
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

const placeholderUrl = "https://collector.example.com";

function scriptTag(collectorUrl: string, { domain, slot }: { domain: string; slot: string }): string {
  const { href } = new URL(addressOf(collectorUrl, slot));
  return `<script defer src="${href.replace(/\/+$/, "")}/js/script.js" data-domain="${domain}"></script>`;
}
