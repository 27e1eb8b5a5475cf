import { furtherNames, listNames } from "@waymark/web-stats/lists";
import {
  askedNames,
  createDayColumns,
  defaultRange,
  engagementNeeds,
  type Filter,
  FilterError,
  filterDimensions,
  metricNames,
  operators,
  parseFilters,
  ranges,
  readStatistics,
  resolveRange,
} from "@waymark/web-stats/statistics";
import { InvalidArgumentError } from "commander";
import { resolveSite } from "../arguments/resolve-owner.js";
import { names, wholeNumber } from "../arguments/values.js";
import type { Program } from "../context/command-builder.js";
import { onDatabase } from "../context/command-context.js";
import { drawStatistics } from "../output/stats-view.js";
import { styleOf } from "../output/terminal-text.js";

const help = `
Ranges are whole UTC days: 7d is today and the six days before it. A visitor counts once per day.
"Before" are as many days before the range.
--json prints the answer of GET /api/v1/sites/ID/stats with interval=day, compare=previous and the same lists, metrics and limit.

Lists beside the top pages, referrers, countries and channels: ${furtherNames.join(", ")}.

Metrics are figures of visits: ${metricNames.join(", ")}; and of pages: timeOnPage (mean
seconds in sight of a page view) and scrollDepth (percent of the page seen). The tables leave them to --json.

Filters leave the visits that match alone: dimension:operator:value|value, several joined by ;. Dimensions:
${filterDimensions.join(", ")},
prop.NAME. Operators: ${operators.join(", ")}. A backslash stands before each | ; : \\ of a value.

Examples:
  $ waymark stats --site example.com --range 30d
  $ waymark stats --site example.com --filters 'country:is:DE|FR;page:contains:/docs'
  $ waymark stats --site example.com --metrics visits,bounceRate
  $ waymark stats --site example.com --lists browsers,entryPages --limit 5 --json`;

/** Of days kept in memory: the days of one answer follow each other. */
const maxBytes = 16_777_216;

/** An option that nobody has to give, for several of something. */
function several<T>(parse: (text: string) => T[]) {
  return { parse, default: [] as T[], shownDefault: "none" };
}

export function addStatsCommand(program: Program): void {
  program
    .command("stats", "show a site's visitors and page views: totals, days and top lists", help)
    .required("--site <site>", "the site's id or domain")
    .option("--range <range>", "the UTC days", { choices: ranges, default: defaultRange })
    .option("--lists <names>", "further lists, separated by commas", several(names(listNames)))
    .option("--metrics <names>", "figures of visits and pages, separated by commas", several(names(askedNames)))
    .option("--filters <filters>", "count the visits that match alone", several(readFilters))
    .option("--limit <n>", "rows of each list, 1 to 1000", { parse: wholeNumber(1, 1_000), default: 10 })
    .check(({ metrics, filters }) => {
      const refusal = engagementNeeds(metrics, filters);
      return refusal && `--filters: ${refusal}.`;
    })
    .run(async (context, { site: text, range, lists: further, limit, metrics, filters }) => {
      const { site, value } = await onDatabase(context, async ({ pool }) => {
        const found = await resolveSite(pool, text);
        const query = { siteId: found.id, range: resolveRange({ range }, context.now()), lists: further, limit };
        const columns = createDayColumns({ pool, maxBytes }).open(found.id);
        const filtering = filters.length > 0 ? { filters, columns } : undefined;
        const asked = { ...query, metrics, filtering, interval: "day", withPrevious: true } as const;
        return { site: found, value: await readStatistics(pool, asked) };
      });
      return { value, text: drawStatistics(site, value, styleOf(context.stdout, context.env)) };
    });
}

function readFilters(text: string): Filter[] {
  try {
    return parseFilters(text);
  } catch (error) {
    if (error instanceof FilterError) throw new InvalidArgumentError(`${error.message}.`);
    throw error;
  }
}
