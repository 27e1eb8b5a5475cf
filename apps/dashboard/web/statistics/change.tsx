import { changeOf, formatShare } from "../ui/format.js";

interface ChangeProps {
  value: number;
  before: number | undefined;
  better?: "high" | "low" | "neither" | undefined;
}

/** How far a figure is above or below the one before; nothing where that is unknown or none. */
export function Change({ value, before, better = "high" }: ChangeProps) {
  const change = before === undefined ? undefined : changeOf(value, before);
  if (change === undefined) return null;
  const percent = Math.round(change * 100);
  if (percent === 0) return <span class="change">±0 %</span>;
  const isUp = percent > 0;
  const gain = isUp === (better === "high") ? "change is-gain" : "change is-loss";
  return (
    <span class={better === "neither" ? "change" : gain}>
      <span aria-hidden="true">{isUp ? "▲" : "▼"}</span>
      <span class="sr-only">{isUp ? "up" : "down"}</span> {formatShare(Math.abs(change))}
    </span>
  );
}
