import type pg from "pg";
import { z } from "zod";
import { addRevenue, readRevenue, toRevenue } from "../goals/count-goals.js";
import type { Days } from "../range.js";
import { type CostDimension, costDimensions, readStoredCosts } from "./costs.query.js";
import { leastVisitors } from "./safe-groups.js";

const count = z.number();

export const costFigures = z
  .object({
    by: z.enum(costDimensions),
    rows: z.array(
      z.object({
        value: z.string().describe("Empty for visits without one; `(other)` has the rest"),
        visits: count.describe("Visits that an agent worked for"),
        runs: count.describe("Traces with a token of these visits"),
        failures: count,
        cost_usd: z.string().describe("A decimal, exact"),
        duration_ms: count,
        conversions: count,
        revenue: z.array(z.object({ currency: z.string(), amount: z.string().describe("A decimal, exact") })),
      }),
    ),
  })
  .describe(`With \`costs\`, what agents cost, in groups of at least ${leastVisitors} visitors of a day`);

export type CostFigures = z.infer<typeof costFigures>;

/** Reads what agents did for the visits of whole days before today, by the value of a dimension. */
export async function readCosts(
  pool: pg.Pool,
  { by, ...asked }: { siteId: string; days: Days; by: CostDimension; limit: number },
): Promise<CostFigures> {
  const rows = await readStoredCosts(pool, { by, ...asked, ...asked.days });
  return {
    by,
    rows: rows.map(({ revenue, ...row }) => {
      const sums = new Map<string, bigint>();
      const days: { currency: string; amount: string }[][] = JSON.parse(revenue ?? "[]");
      for (const { currency, amount } of days.flat()) {
        const read = readRevenue(`${currency} ${amount}`);
        if (read) addRevenue(sums, read);
      }
      return { ...row, revenue: toRevenue(sums) };
    }),
  };
}
