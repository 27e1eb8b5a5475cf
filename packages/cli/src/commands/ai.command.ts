import {
  aiFiltersParameter,
  costDimensions,
  defaultRange,
  type Filter,
  ranges,
  readAi,
  readCosts,
  resolveRange,
} from "@waymark/web-stats/statistics";
import { InvalidArgumentError } from "commander";
import { resolveSite } from "../arguments/resolve-owner.js";
import { wholeNumber } from "../arguments/values.js";
import type { TopCommand } from "../context/command-builder.js";
import { onDatabase } from "../context/command-context.js";
import { openColumns } from "../context/site-columns.js";
import { listing } from "../output/terminal-text.js";

const help = `
crawled: requests for training and search; answered: for the answer to a person; referred: visits that an assistant sent.
--json prints the answer of GET /api/v1/sites/ID/ai with interval=day, compare=previous, all lists and the same limit.
Filters are of page, source (an engine) and channel, as in the API.

Examples:
  $ waymark ai --site example.com --range 30d
  $ waymark ai --site example.com --filters "page:contains:/docs;source:is:ChatGPT"`;

const engines = listing(
  ["name", "crawled", "answered", "referred", "conversions", "revenue"],
  "No engine read the site or sent a visit.",
);
const machines = listing(
  ["name", "purpose", "requests", "pages", "verified", "false", "missing", "blocked", "failed"],
  "No machine read the site.",
);
const pages = listing(["path", "crawled", "answered", "referred", "visitors", "machines"], "No page was read.");
const unvisited = listing(["path", "crawled", "answered"], "Each page that machines read has visitors.");
const unread = listing(["path", "visitors"], "Machines read each page with visitors.");

function readFilters(text: string): Filter[] {
  const read = aiFiltersParameter.safeParse(text);
  if (read.success) return read.data;
  throw new InvalidArgumentError(`${read.error.issues[0]?.message}.`);
}

const everything = { interval: "day", lists: ["unread", "unvisited"], withPrevious: true } as const;

const visits = listing(
  ["value", "visits", "runs", "failures", "cost_usd", "conversions", "revenue"],
  "No costs of visits in these days. 'waymark site costs' switches them on.",
);

interface Paid {
  readonly revenue: readonly { currency: string; amount: string }[];
}

function withRevenue<Row extends Paid>({ revenue, ...row }: Row) {
  return { ...row, revenue: revenue.map(({ amount, currency }) => `${amount} ${currency}`).join(", ") };
}

export function declareCommand(command: TopCommand): void {
  command
    .help(help)
    .required("--site <site>", "the site's id or domain")
    .option("--range <range>", "the UTC days", { choices: ranges, default: defaultRange })
    .option("--costs <by>", "also what agents cost for visits, by this", { choices: costDimensions })
    .option("--limit <n>", "rows of each list, 1 to 1000", { parse: wholeNumber(1, 1_000), default: 10 })
    .option("--filters <filters>", "requests and visits that match", {
      parse: readFilters,
      default: [] as Filter[],
      shownDefault: "none",
    })
    .check(
      ({ costs, filters }) =>
        costs !== undefined && filters.length > 0 && "--costs are of all visits: leave --filters.",
    )
    .run((context, { site, range, limit, filters, costs: by }) =>
      onDatabase(context, async ({ pool }) => {
        const { id: siteId } = await resolveSite(pool, site);
        const { asked, ...days } = resolveRange({ range }, context.now());
        const query = { siteId, days, limit, filters, ...everything } as const;
        const report = await readAi({ pool, columns: openColumns(pool, siteId) }, query);
        const costs = by && (await readCosts(pool, { siteId, days, by, limit }));
        const read = report.pages.map(({ machines, ...page }) => ({
          ...page,
          machines: machines.map(({ name, requests }) => `${name} ${requests}`).join(", "),
        }));
        const lists = [
          ...[engines(report.engines.map(withRevenue)), machines(report.machines), pages(read)],
          ...[
            "Read, not visited:",
            unvisited(report.unvisited ?? []),
            "Visited, not read:",
            unread(report.unread ?? []),
          ],
        ];
        if (costs) lists.push(visits(costs.rows.map(withRevenue)));
        return { value: { ...asked, ...report, ...(costs && { costs }) }, text: lists.join("\n\n") };
      }),
    );
}
