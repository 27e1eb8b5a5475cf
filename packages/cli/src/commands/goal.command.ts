import { createGoal, deleteGoal, listGoals } from "@waymark/web-stats/statistics";
import { InvalidArgumentError } from "commander";
import type { TopCommand } from "../context/command-builder.js";
import { formatFields, listing } from "../output/terminal-text.js";

const createHelp = `
A goal is a custom event, perhaps with a property's value, or a view of a page. '*' in a page stands for any text; the rest must be
the whole path, upper and lower case included. Goals count past events, too. A site has at most 100.

Examples:
  $ waymark goal create --site example.com --event signup
  $ waymark goal create --site example.com --event signup --property plan=pro --name "Paid sign-ups"
  $ waymark goal create --site example.com --page '/docs/*'`;

function parseProperty(text: string) {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be NAME=VALUE.");
  return { property: text.slice(0, at), value: text.slice(at + 1) };
}

export function declareCommand(command: TopCommand): void {
  const goal = command.group();
  goal("create", "create a goal: a custom event or a page", createHelp)
    .required("--site <site>", "the site's id or domain")
    .option("--event <name>", "the custom event")
    .option("--property <name=value>", "a property's value that the event must have", { parse: parseProperty })
    .option("--page <pattern>", "the page's path, '*' for any text")
    .option("--name <name>", "its name in lists; by default the event or page")
    .check(({ event, page }) => (event === undefined) === (page === undefined) && "Give --event or --page.")
    .check(({ event, property }) => property && event === undefined && "--property needs --event.")
    .query(async ({ pool, siteId }, { event, page, name, property }) => {
      const made = await createGoal(pool, siteId, { event, page, name, ...property });
      return { id: made.id, name: made.name };
    }, formatFields);
  goal("list", "list a site's goals, oldest first")
    .required("--site <site>", "the site's id or domain")
    .query(
      ({ pool, siteId }) => listGoals(pool, siteId),
      listing(
        ["id", "name", "event", "property", "value", "page"],
        "The site has no goals. 'waymark goal create' makes one.",
      ),
    );
  goal("delete", "delete a goal; its events stay")
    .argument("<goal-id>", "the goal's id, from 'waymark goal list'")
    .option("--site <site>", "only if it is a goal of this site")
    .query(({ pool, siteId }, goalId) => deleteGoal(pool, { siteId, goalId }), formatFields);
}
