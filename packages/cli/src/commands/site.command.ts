import type { Command } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { type DomainConflict, findDomainConflicts, maxSitesPerDomain } from "../domain-claims.query.js";
import { createSite, listSites } from "../sites.query.js";
import { formatFields, formatTable } from "../table.js";

/** `waymark site create|list`. */
export function addSiteCommands(program: Command, act: Act): void {
  const site = program.command("site").description("create the sites of an account, list them");

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
}

function explainConflict({ id, domain, older }: DomainConflict): string {
  if (older >= maxSitesPerDomain) {
    return `the site ${id} gets no events: ${maxSitesPerDomain} older sites have the domain ${domain}.`;
  }
  return `another account has a site with the domain ${domain} too, and gets the same events.`;
}
