import type { ComponentChildren } from "preact";

interface SegmentedProps<Value extends string> {
  label: string;
  value: Value;
  choices: readonly { value: Value; label: string; mark?: ComponentChildren }[];
  onValue(value: Value): void;
}

/** One choice of a few, as buttons with `aria-pressed` in one frame. */
export function Segmented<Value extends string>({ label, value, choices, onValue }: SegmentedProps<Value>) {
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
