import { useLocation, useRoute } from "preact-iso";
import type { SiteStats } from "../../src/statistics/statistics.route.js";
import { Segmented, Select } from "../ui/choices.js";
import { DateRange } from "../ui/date-range.js";
import { type Address, maxDays, readAddress, sourceOf, writeAddress } from "./address.js";

const choices = [
  { value: "today", label: "Today" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "custom", label: "Custom" },
] as const;

export function useAddress() {
  const source = sourceOf(useRoute().params);
  const { query, path, route } = useLocation();
  const address = readAddress(query);
  const change = (next: Address) => route(`${path}${writeAddress(next)}`, next.filters === address.filters);
  return { source, address, change, onFilters: (filters: string) => change({ ...address, filters }) };
}

interface RangeProps {
  address: Address;
  days: { first: string; last: string } | undefined;
  onAddress(address: Address): void;
}

/** The range as a group of buttons; "Custom" opens two dates. */
export function RangeControls({ address, days, onAddress }: RangeProps) {
  const { from = "", to = "" } = address;
  const choose = (range: Address["range"]) => {
    const { from: _from, to: _to, ...rest } = address;
    if (range !== "custom") onAddress({ ...rest, range });
    else if (days) onAddress({ ...rest, range, from: address.from ?? days.first, to: address.to ?? days.last });
  };
  const change = (first: string, last: string) => onAddress({ ...address, from: first, to: last });
  return (
    <>
      <Segmented label="Range" value={address.range} choices={choices} onValue={choose} />
      {address.range === "custom" && <DateRange from={from} to={to} zone="UTC" maxDays={maxDays} onRange={change} />}
    </>
  );
}

const comparisons: readonly { value: Address["compare"]; label: string }[] = [
  { value: "previous", label: "Compare: the days before" },
  { value: "year", label: "Compare: a year ago" },
  { value: "off", label: "Compare: off" },
];

export function CompareControl({ address, onAddress }: Pick<RangeProps, "address" | "onAddress">) {
  const change = (compare: Address["compare"]) => onAddress({ ...address, compare });
  return <Select label="Compare" value={address.compare} choices={comparisons} onValue={change} />;
}

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
