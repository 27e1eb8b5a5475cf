import { useEffect, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { findId, pastedId } from "../data/pasted-id.js";
import { Segmented, Select } from "../ui/choices.js";
import { DateRange } from "../ui/date-range.js";
import { Icon } from "../ui/icon.js";
import { LabelChips, LabelSelect } from "../ui/label-filters.js";
import { AgentSelect } from "../ui/list-filters.js";
import { zoneName } from "../ui/preferences.js";
import { durationLabel, durations, type Filters, type RangeFilter, ranges, withRange } from "./filters.js";

export function TraceFilters({ filters, onFilters }: { filters: Filters; onFilters(filters: Filters): void }) {
  const onLabels = (labels: Filters["labels"]) => change({ labels });
  const change = (part: Partial<Filters>) => onFilters({ ...filters, ...part, after: "" });
  return (
    <>
      <search class="row filters trace-filters">
        <SearchBox text={filters.text} onText={(text) => change({ text })} />
        <AgentSelect agent={filters.agent} onAgent={(agent) => change({ agent })} />
        <Segmented
          label="Status"
          value={filters.status}
          choices={[
            { value: "all", label: "All" },
            { value: "failed", label: "Failed", mark: <span class="mark is-error" /> },
            { value: "running", label: "Running", mark: <span class="mark is-running" /> },
          ]}
          onValue={(status) => change({ status })}
        />
        <Select
          label="Longer than"
          value={String(filters.longerMs)}
          choices={lengths(filters.longerMs)}
          onValue={(ms) => change({ longerMs: Number(ms) })}
        />
        <Select
          label="Range"
          value={filters.range}
          choices={rangeChoices}
          onValue={(range) => change(withRange(filters, range, new Date()))}
        />
        {filters.range === "custom" && (
          <DateRange
            from={filters.from}
            to={filters.to}
            zone={zoneName()}
            onRange={(from, to) => change({ from, to })}
          />
        )}
        <LabelSelect labels={filters.labels} onLabels={onLabels} />
      </search>
      <LabelChips labels={filters.labels} onLabels={onLabels} />
    </>
  );
}

function lengths(own: number) {
  const known = durations.map(({ ms }) => ms as number);
  const shown = own === 0 || known.includes(own) ? known : [...known, own];
  const longer = shown.map((ms) => ({ value: String(ms), label: `Longer than ${durationLabel(ms)}` }));
  return [{ value: "0", label: "Any duration" }, ...longer];
}

const rangeChoices: readonly { value: RangeFilter; label: string }[] = [
  { value: "", label: "Any time" },
  ...Object.entries(ranges).map(([value, { label }]) => ({ value: value as RangeFilter, label })),
  { value: "custom", label: "Custom range" },
];

const typingMs = 250;

function SearchBox({ text, onText }: { text: string; onText(text: string): void }) {
  const { route } = useLocation();
  const [typed, setTyped] = useState(text);
  const latest = useRef(onText);
  latest.current = onText;
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => latest.current(typed), typingMs);
    return () => clearTimeout(timer);
  }, [typed, text]);
  const onInput = (value: string) => {
    const pasted = pastedId(value);
    if (pasted) void findId(pasted).then((id) => route(`/dashboard/traces/${id}`));
    else setTyped(value);
  };
  return (
    <div class="search-box">
      <Icon name="search" />
      <input
        type="search"
        class="input"
        aria-label="Search traces"
        aria-keyshortcuts="/"
        placeholder="Search names and contents, or paste a trace id"
        maxlength={200}
        spellcheck={false}
        value={typed}
        onInput={(event) => onInput(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") latest.current(typed);
        }}
      />
    </div>
  );
}
