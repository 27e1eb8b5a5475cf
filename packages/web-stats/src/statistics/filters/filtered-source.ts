import type { PointSums } from "../days.query.js";
import { type Days, listDays } from "../range.js";
import type { Filtering } from "../read-statistics.js";
import { noSums, type Sums, sumUp } from "../statistics.query.js";
import { matchBefore, matchVisits, needsOf } from "./match-visits.js";
import { readFilteredFigures } from "./read-filtered.js";
import { addTotals, countEvents } from "./tally.js";

const hourMs = 3_600_000;

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
    hours({ at: day }: PointSums, until: Date): Promise<PointSums[]> {
      const count = Math.max(1, Math.ceil((until.getTime() - Date.parse(day)) / hourMs));
      const names = Array.from({ length: Math.min(24, count) }, (_, hour) => `${day}T${String(hour).padStart(2, "0")}`);
      return readPoints({ first: day, last: day }, names, true);
    },
    async until({ at: day }: PointSums, until: Date): Promise<Sums> {
      const sums = noSums();
      const before = until.getTime() - Date.parse(day);
      const needs = { ...needsOf(filters), times: true };
      await columns.read({ siteId, days: { first: day, last: day }, needs }, async ({ part }) => {
        const match = matchBefore(part, await matchVisits(part, filters, columns.work), before);
        addTotals(sums, part, countEvents(part, match));
      });
      return sums;
    },
  };
}
