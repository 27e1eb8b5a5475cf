import { createSite, type DomainConflict, findDomainConflicts, listSites, renameSite } from "@waymark/accounts";
import { maxSitesPerDomain } from "@waymark/analytics";
import type { Command } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { deleteSite } from "../confirmed-erasure.js";
import { formatFields, formatTable } from "../table.js";

const deleteHelp = `
Its events and statistics go in pieces, and the site itself last. Ctrl-C stops after the piece in hand; the same command goes on.

Example:
  $ waymark site delete --site ID --yes`;

/** `waymark site create|list|rename|delete`. */
export function addSiteCommands(program: Command, act: Act): void {
  const site = program
    .command("site")
    .description("create the sites of an account, list them, rename them, delete them");

  site
    .command("create")
    .description("create a site")
    .requiredOption("--account <id>", "who owns it")
    .requiredOption("--domain <domain>", "its domain, such as example.com; its own pages are no referrers")
    .requiredOption("--name <name>", "the name it is shown under")
    .option("--shared", "although another account has the domain: both then get its events")
    .addHelpText("after", '\nExample:\n  $ waymark site create --account ID --domain example.com --name "My site"')
    .action(
      act(async (context, options: { account: string; domain: string; name: string; shared?: true }) => {
        const { account: accountId, domain, name, shared: isShared = false } = options;
        const { site: value, sameDomain } = await onDatabase(context, ({ prisma }) =>
          createSite(prisma, { accountId, domain, name, isShared }),
        );
        if (sameDomain > 0) {
          context.stderr.write(`Note: the domain ${value.domain} has another site. Both get its events.\n`);
        }
        return { value, text: formatFields({ ...value }) };
      }),
    );

  site
    .command("list")
    .description("list an account's sites, oldest first")
    .requiredOption("--account <id>", "whose sites")
    .action(
      act(async (context, { account }: { account: string }) => {
        const { value, conflicts } = await onDatabase(context, async ({ prisma }) => ({
          value: await listSites(prisma, account),
          conflicts: await findDomainConflicts(prisma, account),
        }));
        for (const conflict of conflicts) context.stderr.write(`Note: ${explainConflict(conflict)}\n`);
        const text = formatTable(["id", "domain", "name"], value);
        return { value, text: value.length > 0 ? text : "The account has no sites. 'waymark site create' makes one." };
      }),
    );
  addChangeCommands(site, act);
}

function addChangeCommands(site: Command, act: Act): void {
  site
    .command("rename")
    .description("change a site's name, or its domain too; its events and statistics stay")
    .requiredOption("--site <id>", "the site")
    .requiredOption("--name <name>", "the name it is shown under")
    .option("--domain <domain>", "its new domain; the collector knows within ten seconds")
    .option("--shared", "although another account has the domain: both then get its events")
    .addHelpText("after", '\nExample:\n  $ waymark site rename --site ID --name "My shop" --domain shop.example')
    .action(
      act(async (context, options: { site: string; name: string; domain?: string; shared?: true }) => {
        const { site: siteId, name, domain, shared: isShared = false } = options;
        const value = await onDatabase(context, ({ prisma }) => renameSite(prisma, { siteId, name, domain, isShared }));
        return { value, text: formatFields({ ...value }) };
      }),
    );

  site
    .command("delete")
    .description("remove a site with its events and statistics, for good")
    .requiredOption("--site <id>", "the site")
    .option("--yes", "do it; without, the command only says what it would remove")
    .addHelpText("after", deleteHelp)
    .action(
      act((context, { site: id, yes }: { site: string; yes?: true }) =>
        onDatabase(context, (database) => deleteSite(context, database, { id, isConfirmed: yes === true })),
      ),
    );
}

function explainConflict({ id, domain, older }: DomainConflict): string {
  if (older >= maxSitesPerDomain) {
    return `the site ${id} gets no events: ${maxSitesPerDomain} older sites have the domain ${domain}.`;
  }
  return `another account has a site with the domain ${domain} too, and gets the same events.`;
}
