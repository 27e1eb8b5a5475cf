import { DateRange } from "../ui/date-range.js";
import { Segmented } from "../ui/segmented.js";
import { type Address, maxDays } from "./address.js";

const choices = [
  { value: "today", label: "Today" },
  { value: "7d", label: "7 days" },
  { value: "30d", label: "30 days" },
  { value: "custom", label: "Custom" },
] as const;

interface RangeProps {
  address: Address;
  /** The days on the page, which a custom range begins with. */
  days: { first: string; last: string } | undefined;
  onAddress(address: Address): void;
}

/** The range as a group of buttons; "Custom" opens two dates. */
export function RangeControls({ address, days, onAddress }: RangeProps) {
  const choose = (range: Address["range"]) => {
    const { from: _from, to: _to, ...rest } = address;
    if (range !== "custom") onAddress({ ...rest, range });
    else if (days) onAddress({ ...rest, range, from: address.from ?? days.first, to: address.to ?? days.last });
  };
  return <Segmented label="Range" value={address.range} choices={choices} onValue={choose} />;
}

/** Both dates of a custom range, nothing for others. */
export function CustomDates({ address, onAddress }: Pick<RangeProps, "address" | "onAddress">) {
  const { range, from = "", to = "" } = address;
  if (range !== "custom") return null;
  const change = (first: string, last: string) => onAddress({ ...address, from: first, to: last });
  return <DateRange from={from} to={to} zone="UTC" maxDays={maxDays} onRange={change} />;
}

/** What the range is compared with. */
export function CompareControl({ address, onAddress }: Pick<RangeProps, "address" | "onAddress">) {
  const change = (value: string) => onAddress({ ...address, compare: value as Address["compare"] });
  return (
    <select
      class="button"
      aria-label="Compare"
      value={address.compare}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    >
      <option value="previous">Compare: the days before</option>
      <option value="year">Compare: a year ago</option>
      <option value="off">Compare: off</option>
    </select>
  );
}
