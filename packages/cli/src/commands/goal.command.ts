import { createGoal, deleteGoal, listGoals } from "@waymark/web-stats/statistics";
import { type Command, InvalidArgumentError } from "commander";
import { onSite } from "../arguments/resolve-owner.js";
import type { Act } from "../context/command-context.js";
import { UsageError } from "../context/command-error.js";
import { formatFields, formatTable } from "../output/terminal-text.js";

const createHelp = `
A goal is a custom event, perhaps with a property's value, or a view of a page. '*' in a page stands for any text; the rest must be
the whole path, upper and lower case included. Goals count past events, too. A site has at most 100.

Examples:
  $ waymark goal create --site example.com --event signup
  $ waymark goal create --site example.com --event signup --property plan=pro --name "Paid sign-ups"
  $ waymark goal create --site example.com --page '/docs/*'`;

interface CreateOptions {
  site: string;
  event?: string;
  property?: Property;
  page?: string;
  name?: string;
}

interface Property {
  property: string;
  value: string;
}

function parseProperty(text: string): Property {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be NAME=VALUE.");
  return { property: text.slice(0, at), value: text.slice(at + 1) };
}

/** `waymark goal create|list|delete`. */
export function addGoalCommands(program: Command, act: Act): void {
  const goal = program.command("goal").description("create the goals of a site, list them, delete them");

  goal
    .command("create")
    .description("create a goal: a custom event or a page")
    .requiredOption("--site <site>", "the site's id or domain")
    .option("--event <name>", "the custom event")
    .option("--property <name=value>", "a property's value that the event must have", parseProperty)
    .option("--page <pattern>", "the page's path, '*' for any text")
    .option("--name <name>", "its name in lists; by default the event or page")
    .addHelpText("after", createHelp)
    .action(
      act(async (context, { site, property, ...rule }: CreateOptions) => {
        if ((rule.event === undefined) === (rule.page === undefined)) throw new UsageError("Give --event or --page.");
        if (property && rule.event === undefined) throw new UsageError("--property needs --event.");
        const value = await onSite(context, site, async (pool, siteId) => {
          const { id, name } = await createGoal(pool, siteId, { ...rule, ...property });
          return { id, name };
        });
        return { value, text: formatFields(value) };
      }),
    );

  goal
    .command("list")
    .description("list a site's goals, oldest first")
    .requiredOption("--site <site>", "the site's id or domain")
    .action(
      act(async (context, { site }: { site: string }) => {
        const value = await onSite(context, site, (pool, id) => listGoals(pool, id));
        const text = formatTable(["id", "name", "event", "property", "value", "page"], value);
        return { value, text: value.length > 0 ? text : "The site has no goals. 'waymark goal create' makes one." };
      }),
    );

  goal
    .command("delete")
    .description("delete a goal; its events stay")
    .argument("<goal-id>", "the goal's id, from 'waymark goal list'")
    .option("--site <site>", "only if it is a goal of this site")
    .action(
      act(async (context, goalId: string, { site }: { site?: string }) => {
        const value = await onSite(context, site, (pool, siteId) => deleteGoal(pool, { siteId, goalId }));
        return { value, text: formatFields({ ...value }) };
      }),
    );
}
