import type { ComponentChildren } from "preact";

interface ChoicesProps<Value extends string> {
  label: string;
  value: Value;
  choices: readonly { value: Value; label: string; mark?: ComponentChildren }[];
  onValue(value: Value): void;
}

export function Select<Value extends string>({
  label,
  value,
  choices,
  onValue,
  class: look = "button",
}: ChoicesProps<Value> & { class?: string }) {
  return (
    <select
      class={look}
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onValue(currentTarget.value as Value)}
    >
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

/** One choice of a few, as buttons with `aria-pressed` in one frame. */
export function Segmented<Value extends string>({ label, value, choices, onValue }: ChoicesProps<Value>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings a form's frame
    <div class="segmented" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          class="inset"
          aria-pressed={choice.value === value}
          onClick={() => onValue(choice.value)}
        >
          {choice.mark}
          {choice.label}
        </button>
      ))}
    </div>
  );
}
