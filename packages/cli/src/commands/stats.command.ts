import { findSite } from "@waymark/accounts";
import { furtherNames, listNames } from "@waymark/web-stats/lists";
import {
  askedNames,
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
  type Statistics,
} from "@waymark/web-stats/statistics";
import { InvalidArgumentError } from "commander";
import { names, wholeNumber } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { CommandError, UsageError } from "../context/command-error.js";
import { addServiceOptions, readFrom } from "../context/service.js";
import { openColumns } from "../context/site-columns.js";
import { drawStatistics } from "../output/stats-view.js";
import { printable, styleOf } from "../output/terminal-text.js";

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
  $ waymark stats example.com --range 30d
  $ waymark stats --site example.com --range 30d
  $ waymark stats --site example.com --filters 'country:is:DE|FR;page:contains:/docs'
  $ waymark stats --site example.com --metrics visits,bounceRate
  $ waymark stats --site example.com --lists browsers,entryPages --limit 5 --json`;

/** An option that nobody has to give, for several of something. */
function several<T>(parse: (text: string) => T[]) {
  return { parse, default: [] as T[], shownDefault: "none" };
}

export function declareCommand(command: TopCommand): void {
  const stats = command
    .help(help)
    .argument("[site]", "the id or domain of a site of the key, where it has several")
    .option("--site <site>", "read the database, for the site of this id or domain")
    .option("--range <range>", "the UTC days", { choices: ranges, default: defaultRange })
    .option("--lists <names>", "further lists, separated by commas", several(names(listNames)))
    .option("--metrics <names>", "figures of visits and pages, separated by commas", several(names(askedNames)))
    .option("--filters <filters>", "count the visits that match alone", {
      parse: readFilters,
      default: { text: "", parsed: [] as Filter[] },
      shownDefault: "none",
    })
    .option("--limit <n>", "rows of each list, 1 to 1000", { parse: wholeNumber(1, 1_000), default: 10 });
  addServiceOptions(stats, "analytics")
    .check(({ metrics, filters }) => {
      const refusal = engagementNeeds(metrics, filters.parsed);
      return refusal && `--filters: ${refusal}.`;
    })
    .run(async (context, named, options) => {
      const { site: ofDatabase, range, lists: further, limit, metrics, filters } = options;
      if (named !== undefined && ofDatabase !== undefined) throw new UsageError("Give the site once.");
      let site = { domain: "" };
      const { body, value } = await readFrom<Statistics>(
        context,
        options,
        {
          async key({ call }) {
            const chosen = chooseSite(
              (await call<{ sites: Site[] }>({ method: "GET", path: "/sites" })).body.sites,
              named,
            );
            site = chosen;
            const asked = { lists: further.join(","), metrics: metrics.join(","), filters: filters.text };
            const given = Object.fromEntries(Object.entries(asked).filter(([, text]) => text !== ""));
            const query = { range, limit: String(limit), interval: "day", compare: "previous", ...given };
            return call({ method: "GET", path: `/sites/${encodeURIComponent(chosen.id)}/stats`, query });
          },
          async owner({ pool, siteId = "", now }) {
            site = await findSite(pool, { siteId });
            const filtering =
              filters.parsed.length > 0 ? { filters: filters.parsed, columns: openColumns(pool, siteId) } : undefined;
            const query = { siteId, range: resolveRange({ range }, now), lists: further, limit, metrics, filtering };
            return readStatistics(pool, { ...query, interval: "day", withPrevious: true });
          },
        },
        "analytics",
      );
      return { value, text: drawStatistics(site, body, styleOf(context.stdout, context.env)) };
    });
}

type Site = Record<"id" | "domain" | "name", string>;

function chooseSite(sites: readonly Site[], text: string | undefined): Site {
  const wanted = text?.toLowerCase();
  const found = wanted === undefined ? sites : sites.filter(({ id, domain }) => id === wanted || domain === wanted);
  const [site, ...others] = found;
  if (site && others.length === 0) return site;
  const all = sites.slice(0, 20).map(({ id, domain }) => `${printable(domain)} (${id})`);
  throw new CommandError(`Give one of this key's sites: ${all.join(", ") || "it has none"}.`);
}

function readFilters(text: string): { text: string; parsed: Filter[] } {
  try {
    return { text, parsed: parseFilters(text) };
  } catch (error) {
    if (error instanceof FilterError) throw new InvalidArgumentError(`${error.message}.`);
    throw error;
  }
}
