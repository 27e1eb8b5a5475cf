import { findSite } from "@waymark/accounts";
import { type ListName, listNames, lists } from "@waymark/lists";
import { defaultRange, type Range, ranges, readStatistics, resolveRange } from "@waymark/statistics";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Act, onDatabase } from "../command-context.js";
import { drawStatistics } from "../stats-view.js";
import { styleOf } from "../terminal-text.js";

const furtherNames = listNames.filter((name) => !lists[name].isInContract);

const help = `
Ranges are whole UTC days: 7d is today and the six days before it. A visitor counts once per day.
"Before" are as many days before the range.
--json prints the answer of GET /api/v1/sites/ID/stats with interval=day, compare=previous and the same lists and limit.

Lists beside the top pages, referrers, countries and channels: ${furtherNames.join(", ")}.

Examples:
  $ waymark stats --site ID --range 30d
  $ waymark stats --site ID --lists browsers,entryPages --limit 5 --json`;

interface StatsOptions {
  site: string;
  range: Range;
  lists: ListName[];
  limit: number;
}

/** `waymark stats`. */
export function addStatsCommand(program: Command, act: Act): void {
  program
    .command("stats")
    .description("show a site's visitors and page views: totals, days and top lists")
    .requiredOption("--site <id>", "the site")
    .addOption(new Option("--range <range>", "the UTC days").choices(ranges).default(defaultRange))
    .addOption(
      new Option("--lists <names>", "further lists, separated by commas").default([], "none").argParser(readLists),
    )
    .addOption(new Option("--limit <n>", "rows of each list, 1 to 1000").default(10).argParser(readLimit))
    .addHelpText("after", help)
    .action(
      act(async (context, { site: id, range, lists: further, limit }: StatsOptions) => {
        const { site, value } = await onDatabase(context, async ({ pool }) => {
          const found = await findSite(pool, id);
          const query = { siteId: found.id, range: resolveRange({ range }, context.now()), lists: further, limit };
          return { site: found, value: await readStatistics(pool, { ...query, withSeries: true, withPrevious: true }) };
        });
        return { value, text: drawStatistics(site, value, styleOf(context.stdout, context.env)) };
      }),
    );
}

function readLists(text: string): ListName[] {
  const names = text.split(",");
  const known = listNames.filter((name) => names.includes(name));
  if (known.length === new Set(names).size) return known;
  throw new InvalidArgumentError(`Allowed names, separated by commas, are ${listNames.join(", ")}.`);
}

function readLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,4}$/.test(text) && limit >= 1 && limit <= 1_000) return limit;
  throw new InvalidArgumentError("It must be a whole number from 1 to 1000.");
}
