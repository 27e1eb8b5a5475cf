import type { SiteStats } from "../../src/statistics/statistics.route.js";
import type { Address } from "./address.js";

/** What the figures are: UTC days, the days compared with, and how visitors count. */
export function RangeNote({ stats, address }: { stats: SiteStats; address: Address }) {
  const { days, overview } = stats;
  const isOneDay = days.first === days.last;
  return (
    <>
      {isOneDay ? `${days.first}, UTC. ` : `${days.first} to ${days.last}, UTC days. `}
      {compareText(stats, address)}
      {overview.interval === "hour" && "A visitor counts in every hour with a page view. "}
      {overview.interval === "day" &&
        (isOneDay
          ? "Without hours: not all days of this chart have them. "
          : "Daily visitors add up: somebody who comes on two days counts twice. ")}
      {coverageText(stats.coverage, address.filters !== "")}
    </>
  );
}

function compareText({ overview }: SiteStats, { compare, filters }: Address): string {
  const { comparison } = overview;
  if (!comparison)
    return compare === "off" || filters === "" ? "" : "Not compared: not all of those days have their events. ";
  const { from, to, until } = comparison;
  const days = from === to ? from : `${from} to ${to}`;
  return until ? `Compared with ${days}, up to ${endText(until, to)}. ` : `Compared with ${days}. `;
}

/** The days that an answer is of, where it is not of all that were asked. */
export function coverageText(coverage: SiteStats["coverage"], hasFilters: boolean): string {
  if (!coverage) return "";
  const { from, to } = coverage;
  if (!hasFilters)
    return from === null ? "Visits are not counted in these days." : `Visits are counted from ${from} on.`;
  if (from === null) return "Filters need events, and none of these days are kept.";
  return `Filters need events, which are kept of ${from} to ${to}.`;
}

function endText(until: string, last: string): string {
  const time = until.slice(11, 16);
  return until.startsWith(last) ? time : `${time} of ${until.slice(0, 10)}`;
}
