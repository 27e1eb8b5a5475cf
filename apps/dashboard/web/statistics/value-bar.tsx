interface BarProps {
  /** Of the largest value, 0 to 1. */
  share: number;
  label: string;
  code?: string;
  isMono?: boolean;
  isFiltered: boolean;
  /** Undefined for a value that is none to filter by. */
  onPick: (() => void) | undefined;
}

export function ValueBar({ share, label, code = label, isMono, isFiltered, onPick }: BarProps) {
  const look = isMono ? "bar-text cut mono" : "bar-text cut";
  // Paths begin at the left in any script.
  const dir = isMono ? "ltr" : "auto";
  const content = (
    <>
      {code !== label && (
        <span class="code-chip" aria-hidden="true">
          {code}
        </span>
      )}
      {label}
    </>
  );
  return (
    <div class="bar-cell">
      <span class="bar" style={{ width: `${share * 100}%` }} />
      {onPick ? (
        <button
          type="button"
          class={`${look} bar-button inset`}
          dir={dir}
          title={label}
          aria-pressed={isFiltered}
          onClick={onPick}
        >
          {content}
        </button>
      ) : (
        <span class={look} dir={dir} title={label}>
          {content}
        </span>
      )}
    </div>
  );
}
