import { createFunnel, deleteFunnel, listFunnels } from "@waymark/web-stats/statistics";
import { collect } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
The steps are goals of the site, 2 to 8. A visitor does them in this order on one UTC day; other things between are allowed. A site
has at most 50 funnels.

Example:
  $ waymark funnel create --site example.com --name Checkout --step GOAL_ID --step GOAL_ID`;

const list = listing(["id", "name", "steps"], "The site has no funnels. 'waymark funnel create' makes one.");

export function declareCommand(command: TopCommand): void {
  const funnel = command.group();
  funnel("create", "create a funnel of goals", createHelp)
    .required("--site <site>", "the site's id or domain")
    .required("--name <name>", "its name in lists")
    .required("--step <goal-id>", "a goal, from 'waymark goal list'; repeat it in order", { parse: collect })
    .query(({ pool, siteId }, { name, step: steps }) => createFunnel(pool, siteId, { name, steps }), formatFields);
  funnel("list", "list a site's funnels with their steps, oldest first")
    .required("--site <site>", "the site's id or domain")
    .query(
      async ({ pool, siteId }) => {
        const funnels = await listFunnels(pool, siteId);
        return funnels.map(({ id, name, steps }) => ({
          id,
          name,
          steps: steps.map((goal) => ({ goal_id: goal.id, name: goal.name })),
        }));
      },
      (rows) => list(rows.map((row) => ({ ...row, steps: row.steps.map((step) => step.name).join(" > ") }))),
    );
  funnel("delete", "delete a funnel; its goals stay")
    .argument("<funnel-id>", "the funnel's id, from 'waymark funnel list'")
    .option("--site <site>", "only if it is a funnel of this site")
    .query(({ pool, siteId }, funnelId) => deleteFunnel(pool, { siteId, funnelId }), formatFields);
}
