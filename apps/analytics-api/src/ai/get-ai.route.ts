import { principalOf } from "@waymark/auth";
import { validationError } from "@waymark/errors";
import { named, route } from "@waymark/service/http";
import {
  aiFigures,
  aiFiltersParameter,
  aiIntervals,
  aiListsParameter,
  checkRange,
  costDimensions,
  costFigures,
  csvType,
  limitParameter,
  type MachineMemory,
  rangeAnswer,
  rangeParameters,
  readAi,
  readCosts,
  readInTime,
  readOwnColumns,
  resolveRange,
  type StatisticsDeps,
  writeAiCsv,
} from "@waymark/web-stats/statistics";
import { z } from "zod";
import { limitHeaders, prefersCsv, siteAnswers } from "../api.js";

const aiQuery = z
  .object({
    ...rangeParameters,
    limit: limitParameter,
    lists: aiListsParameter,
    filters: aiFiltersParameter,
    interval: z.enum(aiIntervals).optional().describe("Adds `series`, the figures of every day, week or month"),
    costs: z.enum(costDimensions).optional().describe("Adds `costs`, what agents cost for visits, by this"),
    compare: z.enum(["previous"]).optional().describe("Adds `previous`, the totals of the days before"),
  })
  .superRefine(checkRange)
  .refine(({ costs, filters = [] }) => costs === undefined || filters.length === 0, {
    path: ["costs"],
    message: "Must come without filters: costs are kept as sums of all visits",
  });

const description = `Extension of the contract: requests of machines by the list of machines, apart from visits; the visits that AI assistants sent, and what those did for the site's goals.

\`waymark import\` counts machines' requests of a web server's log. A machine is of an engine where the engine's answers have links to pages: \`referred\` counts visits of the channel \`AI Assistants\`, in a page those that began with it. Sums of a page are of all machines with these purposes; its \`machines\` are those that read it most. A day keeps 4,000 pairs of machine and page and counts the rest as \`(other)\`, the last row of \`pages\`, beside the \`limit\`. With \`Accept: text/csv\` the answer is the list that \`lists\` names as CSV.`;

const example = {
  range: "7d",
  machines: [
    {
      name: "GPTBot",
      operator: "OpenAI",
      purpose: "training",
      requests: 812,
      pages: 96,
      verified: 790,
      unknown: 0,
      false: 22,
      errors: 14,
      missing: 13,
      blocked: 1,
      failed: 0,
    },
  ],
  engines: [
    {
      name: "ChatGPT",
      crawled: 1_040,
      answered: 311,
      referred: 57,
      conversions: 4,
      revenue: [{ currency: "EUR", amount: "196" }],
    },
  ],
  pages: [
    {
      path: "/pricing",
      crawled: 31,
      answered: 44,
      referred: 12,
      visitors: 203,
      machines: [{ name: "GPTBot", requests: 22 }],
    },
  ],
};

/** `GET /sites/:id/ai`, an extension of the contract. */
export function getAiRoute(deps: StatisticsDeps & { machines: MachineMemory }) {
  return route({
    method: "get",
    path: "/sites/:id/ai",
    operationId: "getAi",
    summary: "Read which machines read a site, and which visits AI assistants send",
    description,
    params: { id: "The site's id" },
    query: aiQuery,
    answers: siteAnswers({
      description: "The site's machines, engines and pages in the range",
      schema: named("Ai", z.object({ ...rangeAnswer, ...aiFigures.shape, costs: costFigures.optional() })),
      example,
      otherMedia: { "text/csv": { schema: z.string(), example: writeAiCsv("pages", example) } },
      headers: [...limitHeaders, "Vary"],
    }),
    async handle(input) {
      input.response.vary("Accept");
      const { limit, lists, filters, interval, compare, costs: by } = input.query;
      const [list, ...more] = lists;
      const isCsv = prefersCsv(input.request);
      if (isCsv && (!list || more.length > 0)) {
        throw validationError({ lists: "Must name exactly one list for text/csv" });
      }
      const { asked, ...days } = resolveRange(input.query, deps.now());
      const query = { days, limit, lists, filters, interval, withPrevious: compare === "previous" };
      const body = await readOwnColumns(deps, principalOf(input.response), input, async ({ id: siteId }, columns) => {
        const report = await readInTime(asked, readAi({ ...deps, columns }, { siteId, ...query }));
        return by
          ? { ...report, costs: await readInTime(asked, readCosts(deps.pool, { siteId, by, days, limit })) }
          : report;
      });
      if (isCsv && list) return { status: 200, contentType: csvType, body: writeAiCsv(list, body) };
      return { status: 200, body: { ...asked, ...body } };
    },
  });
}
