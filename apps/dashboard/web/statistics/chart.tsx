import "./chart.css";
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { formatShortDay } from "../ui/format.js";
import { type Column, TableRows } from "../ui/table.js";
import { useMeasure } from "../ui/use-size.js";
import { type Curve, drawCurve, labelledTimes } from "./chart-shape.js";

const height = 200;

export interface ChartLook {
  label: string;
  format(value: number): string;
  tick(value: number): string;
}

interface FigureButtonsProps<Name extends string> {
  figures: readonly { name: Name; label: string; value: string; change?: ComponentChildren }[];
  selected: Name;
  onSelect(name: Name): void;
}

export function FigureButtons<Name extends string>({ figures, selected, onSelect }: FigureButtonsProps<Name>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings a form's frame
    <div class="figures" role="group" aria-label="Figures">
      {figures.map(({ name, label, value, change }) => (
        <button key={name} type="button" class="inset" aria-pressed={name === selected} onClick={() => onSelect(name)}>
          <span class="figure-label">{label}</span> <span class="figure-value">{value}</span> {change}
        </button>
      ))}
    </div>
  );
}

interface ChartProps {
  curve: Curve;
  look: ChartLook;
}

/** A figure over time beside the time before. Arrow keys, Home and End read it value by value. */
export function Chart({ curve, look }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useMeasure(frame, (element) => setWidth(Math.floor(element.getBoundingClientRect().width)));
  const [shown, setShown] = useState<number | undefined>();
  const drawn = useMemo(() => drawCurve(curve, { width, height }), [curve, width]);
  const last = Math.max(0, curve.values.length - 1);
  const at = Math.min(shown ?? last, curve.times.length - 1);
  const move = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const next = nextTime(event.key, at, curve.times.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    setShown(next);
  };
  return (
    <div class="chart">
      <div
        class="chart-frame"
        ref={frame}
        role="slider"
        tabIndex={0}
        aria-label={`${look.label} over time`}
        aria-valuemin={0}
        aria-valuemax={curve.times.length - 1}
        aria-valuenow={at}
        aria-valuetext={sayTime(curve, look, at)}
        onKeyDown={move}
        onFocus={() => setShown((index) => index ?? last)}
        onBlur={() => setShown(undefined)}
        onPointerMove={({ offsetX }) => setShown(drawn.indexAt(offsetX))}
        onPointerLeave={() => setShown(undefined)}
      >
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" focusable="false">
          <Axes curve={curve} drawn={drawn} width={width} look={look} />
          <path class="chart-area" d={drawn.area} />
          <path class="chart-before" d={drawn.before} />
          <path class="chart-line" d={drawn.line} />
          <path class="chart-line is-unfinished" d={drawn.unfinished} />
          {(curve.isUnfinished || curve.values.length === 1) && (
            <Dot drawn={drawn} value={curve.values.at(-1) ?? 0} index={last} />
          )}
          {shown !== undefined && (
            <>
              <line class="chart-mark" x1={drawn.x(at)} x2={drawn.x(at)} y1={12} y2={height - 26} />
              {curve.values[at] !== undefined && <Dot drawn={drawn} value={curve.values[at] ?? 0} index={at} />}
            </>
          )}
        </svg>
        {shown !== undefined && <Tip curve={curve} look={look} index={at} left={drawn.x(at)} width={width} />}
      </div>
      <HiddenTable curve={curve} look={look} />
    </div>
  );
}

type Drawn = ReturnType<typeof drawCurve>;

function Dot({ drawn, value, index }: { drawn: Drawn; value: number; index: number }) {
  return <circle class="chart-dot" r={4} cx={drawn.x(index)} cy={drawn.y(value)} />;
}

function Axes({ curve, drawn, width, look }: { curve: Curve; drawn: Drawn; width: number; look: ChartLook }) {
  const labelled = labelledTimes(curve.times.length, width);
  return (
    <>
      {drawn.ticks.map(({ value, y }) => (
        <g key={value}>
          <line class="chart-grid" x1={44} x2={width - 16} y1={y} y2={y} />
          <text class="chart-label" x={36} y={y + 4} text-anchor="end">
            {look.tick(value)}
          </text>
        </g>
      ))}
      {labelled.map((index) => (
        <text
          key={index}
          class="chart-label"
          x={drawn.x(index)}
          y={height - 6}
          text-anchor={anchorOf(index, curve.times.length)}
        >
          {formatTime(curve.times[index] ?? "")}
        </text>
      ))}
    </>
  );
}

function anchorOf(index: number, count: number): "start" | "middle" | "end" {
  if (index === 0) return "start";
  return index === count - 1 ? "end" : "middle";
}

type TipProps = ChartProps & Record<"index" | "left" | "width", number>;

function Tip({ curve, look, index, left, width }: TipProps) {
  const value = curve.values[index];
  const before = curve.before?.[index];
  const side = left > width / 2 ? { right: `${width - left + 10}px` } : { left: `${left + 10}px` };
  return (
    <div class="chart-tip" style={side} aria-hidden="true">
      <strong>
        {formatTime(curve.times[index] ?? "")}
        {curve.isUnfinished && index === curve.values.length - 1 ? ", so far" : ""}
      </strong>
      {value !== undefined && (
        <span>
          {look.label} <b>{look.format(value)}</b>
        </span>
      )}
      {before !== undefined && (
        <span class="chart-tip-before">
          {formatTime(curve.beforeTimes[index] ?? "", true)} <b>{look.format(before)}</b>
        </span>
      )}
    </div>
  );
}

function HiddenTable({ curve, look }: ChartProps) {
  const rows = curve.times.map((time, at) => ({ time, value: curve.values[at], before: curve.before?.[at] }));
  const columns: Column<(typeof rows)[number]>[] = [
    { text: "Time (UTC)", cell: ({ time }) => formatTime(time) },
    { text: look.label, cell: ({ value }) => formatMaybe(look, value) },
  ];
  if (curve.before) columns.push({ text: "Compared with", cell: ({ before }) => formatMaybe(look, before) });
  return (
    <div class="sr-only">
      <table aria-label={`${look.label} over time`}>
        <TableRows columns={columns} rows={rows} keyOf={({ time }) => time} />
      </table>
    </div>
  );
}

function formatMaybe(look: ChartLook, value: number | undefined): string {
  return value === undefined ? "not yet" : look.format(value);
}

function sayTime(curve: Curve, look: ChartLook, index: number): string {
  const before = curve.before?.[index];
  const compared = before === undefined ? "" : `, compared with ${look.format(before)}`;
  const value = formatMaybe(look, curve.values[index]);
  return `${formatTime(curve.times[index] ?? "")}: ${value} ${look.label.toLowerCase()}${compared}`;
}

/** `15 Nov`, or `04:00` for an hour. The year only where it may be another. */
function formatTime(time: string, withYear = false): string {
  if (time.length > 10) {
    const hour = `${time.slice(11)}:00`;
    return withYear ? `${time.slice(0, 10)} ${hour}` : hour;
  }
  if (time === "") return "";
  return withYear ? time : formatShortDay(time);
}

function nextTime(key: string, at: number, last: number): number | undefined {
  if (key === "ArrowRight" || key === "ArrowUp") return Math.min(last, at + 1);
  if (key === "ArrowLeft" || key === "ArrowDown") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  return key === "End" ? last : undefined;
}
