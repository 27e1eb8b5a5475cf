import type { Figures as FiguresOfTime, Overview } from "@waymark/web-stats/statistics";
import { formatCount, formatDuration, formatShare } from "../ui/format.js";
import { type FigureName, figureNames } from "./address.js";
import type { ChartLook } from "./chart.js";
import { changeOf, figureOf } from "./chart-shape.js";

interface FigureLook {
  label: string;
  format(value: number): string;
  /** On the chart's axis; whole numbers alone without it. */
  tick?(value: number): string;
  /** More of it is no gain. */
  isBetterLow?: true;
}

const toRatio = (value: number) => value.toFixed(2);
const toPercent = (value: number) => `${Math.round(100 * value)}%`;
const toClock = (seconds: number) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
const toSeconds = (value: number) =>
  value === 0 ? "0\u00a0s" : formatDuration(1_000 * (value < 10 ? value : Math.round(value)));

const looks: Readonly<Record<FigureName, FigureLook>> = {
  visitors: { label: "Visitors", format: formatCount },
  pageviews: { label: "Page views", format: formatCount },
  ratio: { label: "Views per visitor", format: toRatio, tick: String },
  events: { label: "Custom events", format: formatCount },
  visits: { label: "Visits", format: formatCount },
  viewsPerVisit: { label: "Views per visit", format: toRatio, tick: String },
  bounceRate: { label: "Bounce rate", format: formatShare, tick: toPercent, isBetterLow: true },
  visitDuration: { label: "Visit duration", format: toSeconds, tick: toClock },
};

export function chartLookOf(figure: FigureName): ChartLook {
  const { label, format, tick } = looks[figure];
  return { label, format, tick: tick ?? ((value) => (Number.isInteger(value) ? formatCount(value) : "")) };
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
      {figureNames.map((name) => (
        <button key={name} type="button" aria-pressed={name === selected} onClick={() => onSelect(name)}>
          <span class="figure-label">{looks[name].label}</span>{" "}
          <span class="figure-value">{looks[name].format(figureOf(overview.totals, name))}</span>{" "}
          <Change figure={name} totals={overview.totals} before={overview.comparison?.totals} />
        </button>
      ))}
    </div>
  );
}

interface ChangeProps {
  figure: FigureName;
  totals: FiguresOfTime;
  before: FiguresOfTime | undefined;
}

function Change({ figure, totals, before }: ChangeProps) {
  if (!before) return null;
  const change = changeOf(figureOf(totals, figure), figureOf(before, figure));
  if (change === undefined) return null;
  const percent = Math.round(change * 100);
  if (percent === 0) return <span class="change">±0 %</span>;
  const isUp = percent > 0;
  return (
    <span class={isUp === (looks[figure].isBetterLow === undefined) ? "change is-gain" : "change is-loss"}>
      <span aria-hidden="true">{isUp ? "▲" : "▼"}</span>
      <span class="sr-only">{isUp ? "up" : "down"}</span> {formatShare(Math.abs(change))}
    </span>
  );
}
