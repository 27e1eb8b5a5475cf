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
          title={label}
          aria-pressed={isFiltered}
          onClick={onPick}
        >
          {content}
        </button>
      ) : (
        <span class={look} title={label}>
          {content}
        </span>
      )}
    </div>
  );
}
