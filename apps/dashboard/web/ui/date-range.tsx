import { useEffect, useState } from "preact/hooks";
import { rangeProblem } from "./day-range.js";

interface DateRangeProps {
  from: string;
  to: string;
  zone: string;
  maxDays?: number;
  onRange(from: string, to: string): void;
}

export function DateRange({ from, to, zone, maxDays, onRange }: DateRangeProps) {
  const [days, setDays] = useState({ from, to });
  useEffect(() => setDays({ from, to }), [from, to]);
  const problem = rangeProblem(days.from, days.to, maxDays);
  const change = (part: Partial<typeof days>) => {
    const next = { ...days, ...part };
    setDays(next);
    if (rangeProblem(next.from, next.to, maxDays) === undefined) onRange(next.from, next.to);
  };
  return (
    <div class="row small date-range">
      <DayField label="From" value={days.from} onDay={(day) => change({ from: day })} />
      <DayField label="To" value={days.to} onDay={(day) => change({ to: day })} />
      <span class="soft">{zone} days</span>
      {problem && (
        <span class="field-error" role="alert">
          {problem}
        </span>
      )}
    </div>
  );
}

function DayField({ label, value, onDay }: { label: string; value: string; onDay(day: string): void }) {
  return (
    <label>
      {label}
      <input class="input" type="date" value={value} onChange={({ currentTarget }) => onDay(currentTarget.value)} />
    </label>
  );
}
