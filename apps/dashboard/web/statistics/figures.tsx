import type { Counts, Overview } from "@waymark/statistics";
import { formatCount, formatShare } from "../ui/format.js";
import type { FigureName } from "./address.js";
import { changeOf, figureOf } from "./chart-shape.js";

const labels: Readonly<Record<FigureName, string>> = {
  visitors: "Visitors",
  pageviews: "Page views",
  ratio: "Views per visitor",
  events: "Custom events",
};

const names = Object.keys(labels) as FigureName[];

export function labelOfFigure(figure: FigureName): string {
  return labels[figure];
}

export function formatFigure(figure: FigureName, value: number): string {
  return figure === "ratio" ? value.toFixed(2) : formatCount(value);
}

interface FiguresProps {
  overview: Overview;
  selected: FigureName;
  onSelect(figure: FigureName): void;
}

/** The figures of the range with their change; a click draws one. */
export function Figures({ overview, selected, onSelect }: FiguresProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings a form's frame
    <div class="figures" role="group" aria-label="Figures">
      {names.map((name) => (
        <button key={name} type="button" aria-pressed={name === selected} onClick={() => onSelect(name)}>
          <span class="figure-label">{labels[name]}</span>{" "}
          <span class="figure-value">{formatFigure(name, figureOf(overview.totals, name))}</span>{" "}
          <Change figure={name} totals={overview.totals} before={overview.comparison?.totals} />
        </button>
      ))}
    </div>
  );
}

function Change({ figure, totals, before }: { figure: FigureName; totals: Counts; before: Counts | undefined }) {
  if (!before) return null;
  const change = changeOf(figureOf(totals, figure), figureOf(before, figure));
  if (change === undefined) return null;
  const percent = Math.round(change * 100);
  if (percent === 0) return <span class="change">±0 %</span>;
  const isUp = percent > 0;
  return (
    <span class={isUp ? "change is-up" : "change is-down"}>
      <span aria-hidden="true">{isUp ? "▲" : "▼"}</span>
      <span class="sr-only">{isUp ? "up" : "down"}</span> {formatShare(Math.abs(change))}
    </span>
  );
}
