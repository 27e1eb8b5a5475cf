import type { PointSums } from "../days.query.js";
import { type Days, listDays, listHours } from "../range.js";
import type { Filtering } from "../read-statistics.js";
import { noSums, type Sums, sumUp } from "../statistics.query.js";
import { matchVisits, needsOf } from "./match-visits.js";
import { readFilteredFigures } from "./read-filtered.js";
import { addTotalsBefore } from "./tally.js";

/** A site's days and hours as an overview needs them, of the visits that match. */
export function openFilteredSource({ columns, filters }: Filtering, siteId: string) {
  async function readPoints(days: Days, names: readonly string[], withHours: boolean): Promise<PointSums[]> {
    const asked = { siteId, filters, ...days, totalsFrom: days.first, withHours };
    const rows = await readFilteredFigures(columns, { ...asked, lists: [], limit: 0, dimensionOf: () => "" });
    const dimension = withHours ? "hour" : "total";
    const points = new Map(names.map((at) => [at, noSums()]));
    for (const row of rows) if (row.dimension === dimension) sumUp(points.get(row.value), row);
    return Array.from(points, ([at, sums]) => ({ at, ...sums }));
  }

  return {
    days: (days: Days): Promise<PointSums[]> => readPoints(days, listDays(days), false),
    hours: ({ at }: PointSums, until: Date) => readPoints({ first: at, last: at }, listHours(at, until), true),
    async until({ at: day }: PointSums, until: Date): Promise<Sums> {
      const sums = noSums();
      const before = until.getTime() - Date.parse(day);
      const needs = { ...needsOf(filters), times: true };
      await columns.read({ siteId, days: { first: day, last: day }, needs }, async ({ part }) => {
        addTotalsBefore(sums, part, await matchVisits(part, filters, columns.work), before);
      });
      return sums;
    },
  };
}
