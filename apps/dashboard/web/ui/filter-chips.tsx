import "./filter-chips.css";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce } from "./announce.js";
import { Button } from "./button.js";
import { Icon } from "./icon.js";

interface FilterChipsProps {
  /** The filters in words, each once. */
  chips: readonly { says: string; shows?: string }[];
  onRemove(at: number): void;
  onClear(): void;
}

/** A page's filters, each with a button that removes it; the focus goes to the next one, and then to the heading. */
export function FilterChips({ chips, onRemove, onClear }: FilterChipsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const text = chips.map(({ says }) => says).join(", ");
  const last = useRef(text);
  const removed = useRef<number | undefined>(undefined);
  useLayoutEffect(() => {
    if (last.current === text) return;
    last.current = text;
    announce(text === "" ? "No filters" : `Filters: ${text}`);
    if (removed.current === undefined) return;
    const buttons = frame.current?.querySelectorAll<HTMLElement>(".filter-chip button") ?? [];
    (buttons[Math.min(removed.current, buttons.length - 1)] ?? document.querySelector("h1"))?.focus();
    removed.current = undefined;
  }, [text]);
  const remove = (at: number, act: () => void) => {
    removed.current = at;
    act();
  };
  if (chips.length === 0) return null;
  return (
    <div class="row filter-chips" ref={frame}>
      <ul class="row" aria-label="Filters">
        {chips.map(({ says, shows = says }, at) => (
          <li key={says} class="filter-chip">
            <span>{shows}</span>
            <button type="button" aria-label={`Remove filter ${says}`} onClick={() => remove(at, () => onRemove(at))}>
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <Button text="Remove all filters" look="quiet" onClick={() => remove(0, onClear)} />
    </div>
  );
}
