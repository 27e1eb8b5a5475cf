import { createFunnel, deleteFunnel, listFunnels } from "@waymark/web-stats/statistics";
import type { Command } from "commander";
import { onSite } from "../arguments/resolve-owner.js";
import { collect } from "../arguments/values.js";
import type { Act } from "../context/command-context.js";
import { formatFields, formatTable } from "../output/terminal-text.js";

const createHelp = `
The steps are goals of the site, 2 to 8. A visitor does them in this order on one UTC day; other things between are allowed. A site
has at most 50 funnels.

Example:
  $ waymark funnel create --site example.com --name Checkout --step GOAL_ID --step GOAL_ID`;

interface CreateOptions {
  site: string;
  name: string;
  step: string[];
}

/** `waymark funnel create|list|delete`. */
export function addFunnelCommands(program: Command, act: Act): void {
  const funnel = program.command("funnel").description("create funnels of a site's goals, list them, delete them");

  funnel
    .command("create")
    .description("create a funnel of goals")
    .requiredOption("--site <site>", "the site's id or domain")
    .requiredOption("--name <name>", "its name in lists")
    .requiredOption("--step <goal-id>", "a goal, from 'waymark goal list'; repeat it in order", collect)
    .addHelpText("after", createHelp)
    .action(
      act(async (context, { site, name, step: steps }: CreateOptions) => {
        const value = await onSite(context, site, (pool, siteId) => createFunnel(pool, siteId, { name, steps }));
        return { value, text: formatFields({ ...value }) };
      }),
    );

  funnel
    .command("list")
    .description("list a site's funnels with their steps, oldest first")
    .requiredOption("--site <site>", "the site's id or domain")
    .action(
      act(async (context, { site }: { site: string }) => {
        const funnels = await onSite(context, site, (pool, id) => listFunnels(pool, id));
        const value = funnels.map(({ id, name, steps }) => ({
          id,
          name,
          steps: steps.map((goal) => ({ goal_id: goal.id, name: goal.name })),
        }));
        const rows = value.map((row) => ({ ...row, steps: row.steps.map((step) => step.name).join(" > ") }));
        const text = formatTable(["id", "name", "steps"], rows);
        return { value, text: value.length > 0 ? text : "The site has no funnels. 'waymark funnel create' makes one." };
      }),
    );

  funnel
    .command("delete")
    .description("delete a funnel; its goals stay")
    .argument("<funnel-id>", "the funnel's id, from 'waymark funnel list'")
    .option("--site <site>", "only if it is a funnel of this site")
    .action(
      act(async (context, funnelId: string, { site }: { site?: string }) => {
        const value = await onSite(context, site, (pool, siteId) => deleteFunnel(pool, { siteId, funnelId }));
        return { value, text: formatFields({ ...value }) };
      }),
    );
}
