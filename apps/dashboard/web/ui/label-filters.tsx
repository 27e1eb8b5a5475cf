import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "./button.js";
import { Select } from "./choices.js";
import { FilterChips } from "./filter-chips.js";
import { type LabelName, type Labels, labelChips, labelFilters, labelNames, maxLabelLength } from "./labels.js";

interface LabelFiltersProps {
  labels: Labels;
  onLabels(labels: Labels): void;
  names?: readonly LabelName[];
}

export function LabelSelect({ labels, onLabels, names = labelNames }: LabelFiltersProps) {
  const [name, setName] = useState<LabelName>();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), [name]);
  const choices = [
    { value: "" as const, label: "Label: any" },
    ...names.map((value) => ({ value, label: labelFilters[value].label })),
  ];
  const submit = (event: Event) => {
    event.preventDefault();
    const text = input.current?.value.trim();
    if (name && text) onLabels({ ...labels, [name]: text });
    setName(undefined);
  };
  return (
    <>
      <Select label="Label" value={name ?? ""} choices={choices} onValue={(next) => setName(next || undefined)} />
      {name && (
        <form class="row label-form" onSubmit={submit}>
          <input
            ref={input}
            class="input"
            aria-label={`${labelFilters[name].label} is`}
            placeholder={`${labelFilters[name].label}, exactly`}
            maxlength={maxLabelLength}
            spellcheck={false}
            value={labels[name] ?? ""}
            onKeyDown={(event) => event.key === "Escape" && setName(undefined)}
          />
          <Button text="Filter" type="submit" />
        </form>
      )}
    </>
  );
}

export function LabelChips({ labels, onLabels }: LabelFiltersProps) {
  const chips = labelChips(labels);
  return (
    <FilterChips chips={chips} onRemove={(at) => onLabels(chips[at]?.without ?? labels)} onClear={() => onLabels({})} />
  );
}
