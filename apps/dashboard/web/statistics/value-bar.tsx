import type { ComponentChildren } from "preact";

interface BarProps {
  /** Of the largest value, 0 to 1. */
  share: number;
  label: string;
  isMono?: boolean | undefined;
  /** Whether the page is filtered by the value. */
  isFiltered: boolean;
  /** Undefined for a value that is none to filter by. */
  onPick: (() => void) | undefined;
  /** Before the label. */
  children?: ComponentChildren;
}

/** A value over a bar of its share; a click on it filters the page. */
export function ValueBar({ share, label, isMono, isFiltered, onPick, children }: BarProps) {
  const look = isMono ? "bar-text mono" : "bar-text";
  return (
    <div class="bar-cell">
      <span class="bar" style={{ width: `${share * 100}%` }} />
      {onPick ? (
        <button type="button" class={`${look} bar-button`} title={label} aria-pressed={isFiltered} onClick={onPick}>
          {children}
          {label}
        </button>
      ) : (
        <span class={look} title={label}>
          {children}
          {label}
        </span>
      )}
    </div>
  );
}
