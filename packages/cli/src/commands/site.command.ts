import type { Command } from "commander";
import { type Act, onDatabase } from "../command-context.js";
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
    .addHelpText("after", '\nExample:\n  $ waymark site create --account ID --domain example.com --name "My site"')
    .action(
      act(async (context, options: { account: string; domain: string; name: string }) => {
        const { account: accountId, domain, name } = options;
        const { site: value, sameDomain } = await onDatabase(context, ({ prisma }) =>
          createSite(prisma, { accountId, domain, name }),
        );
        if (sameDomain > 0) {
          context.stderr.write(`Note: the account has another site with the domain ${value.domain}. Both stay.\n`);
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
        const value = await onDatabase(context, ({ prisma }) => listSites(prisma, account));
        const text = formatTable(["id", "domain", "name"], value);
        return { value, text: value.length > 0 ? text : "The account has no sites. 'waymark site create' makes one." };
      }),
    );
}
