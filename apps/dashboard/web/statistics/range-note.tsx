import type { SiteStats } from "../../src/statistics/site-stats.schema.js";

/** What the figures are: UTC days, the days compared with, and how visitors count. */
export function RangeNote({ stats }: { stats: SiteStats }) {
  const { days, overview } = stats;
  const isOneDay = days.first === days.last;
  return (
    <>
      {isOneDay ? `${days.first}, UTC. ` : `${days.first} to ${days.last}, UTC days. `}
      {compareText(stats)}
      {overview.interval === "hour" && "A visitor counts in every hour with a page view. "}
      {overview.interval === "day" &&
        (isOneDay
          ? "Without hours: they are drawn for up to 500,000 events a day, as long as raw events are kept. "
          : "Daily visitors add up: somebody who comes on two days counts twice. ")}
      {coverageText(stats)}
    </>
  );
}

function compareText({ overview }: SiteStats): string {
  const { comparison } = overview;
  if (!comparison) return "";
  const { from, to, until } = comparison;
  const days = from === to ? from : `${from} to ${to}`;
  return until ? `Compared with ${days}, up to ${endText(until, to)}. ` : `Compared with ${days}. `;
}

function coverageText({ coverage }: SiteStats): string {
  if (!coverage) return "";
  const { from, to } = coverage;
  return from === null || to === null ? "Visits are not counted in these days." : `Visits are counted from ${from} on.`;
}

function endText(until: string, last: string): string {
  const time = until.slice(11, 16);
  return until.startsWith(last) ? time : `${time} of ${until.slice(0, 10)}`;
}
