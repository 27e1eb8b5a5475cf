import { listNames, lists, otherValue } from "@waymark/web-stats/lists";
import { type AskedMetric, askedNames, type ListAnswer, type Statistics } from "@waymark/web-stats/statistics";
import stringWidth from "string-width";
import { cutTo, fit, formatCount, formatPercent, printable, type TerminalStyle } from "./terminal-text.js";

/** A line of a table: the bar shows the visitors. */
interface Line {
  label: string;
  visitors: number;
  /** Absent in lists that do not show page views. */
  pageviews?: number | undefined;
}

const columns = { visitors: 10, pageviews: 12, gap: 2, minBar: 8, maxBar: 40 };
const figuresWidth = columns.visitors + columns.pageviews + columns.gap;

const blocks = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/**
 * A site's statistics as text: totals, a table of days, and a table per list, each with bars. No line is wider than the
 * terminal, or than 80 columns where the output is no terminal.
 */
export function drawStatistics(site: { domain: string }, statistics: Statistics, style: TerminalStyle): string {
  const { series = [], range } = statistics;
  const width = style.isTerminal ? style.width : 80;
  const days = series.map(({ day = "", visitors, pageviews }) => ({ label: day, visitors, pageviews }));
  const tables = [
    { title: "DAY", lines: days },
    ...listNames.flatMap((name) => {
      const answer = statistics[name];
      return answer === undefined ? [] : [{ title: titleOf(name), lines: toLines(answer, lists[name].key) }];
    }),
  ];
  const labels = tables.flatMap(({ title, lines }) => [title, ...lines.map(({ label }) => label)]);
  const longest = Math.max(...labels.map((label) => stringWidth(printable(label))));
  const labelWidth = Math.min(longest, width - figuresWidth - columns.minBar);
  const barWidth = Math.min(columns.maxBar, width - labelWidth - figuresWidth);
  const drawn = tables.map(({ title, lines }) => drawTable(title, lines, { labelWidth, barWidth }));
  const [first, last] = [series[0]?.day, series.at(-1)?.day];
  const title = `${printable(site.domain)}, ${first === last ? first : `${first} to ${last}`} (${range}, UTC)`;
  const totals = [...drawTotals(statistics), ...drawCoverage(statistics)].map((line) => cutTo(line, width));
  return [style.bold(cutTo(title, width)), totals.join("\n"), ...drawn].join("\n\n");
}

/** The days that the figures are of, where these are not all. */
function drawCoverage({ coverage }: Statistics): string[] {
  if (!coverage) return [];
  return [coverage.from ? `Of ${coverage.from} to ${coverage.to}: other days have no events` : "No day has its events"];
}

function drawTotals(statistics: Statistics): string[] {
  const { uniqueVisitors, pageviews, previous } = statistics;
  const metrics = askedNames.filter((name) => statistics[name] !== undefined);
  const width = metrics.length > 0 ? 15 : 10;
  const total = (label: string, now: string, change: string) => `${label.padEnd(width)}${now.padStart(12)}${change}`;
  const counted = (label: string, now: number, before: number | undefined) =>
    total(label, formatCount(now), before === undefined ? "" : `  ${changeOf(now, before)}`);
  return [
    counted("Visitors", uniqueVisitors, previous?.uniqueVisitors),
    counted("Page views", pageviews, previous?.pageviews),
    ...metrics.map((name) => {
      const { label, show } = metricTexts[name];
      const [now, before] = [statistics[name], previous?.[name]];
      const shown = (value: number | null | undefined) => (value == null ? "-" : show(value));
      return total(label, shown(now), before === undefined ? "" : `  (${shown(before)} before)`);
    }),
  ];
}

const metricTexts: Readonly<Record<AskedMetric, { label: string; show(value: number): string }>> = {
  visits: { label: "Visits", show: formatCount },
  bounceRate: { label: "Bounce rate", show: formatPercent },
  visitDuration: { label: "Visit duration", show: minutes },
  viewsPerVisit: { label: "Views per visit", show: (views) => views.toFixed(2) },
  events: { label: "Custom events", show: formatCount },
  timeOnPage: { label: "Time on page", show: minutes },
  scrollDepth: { label: "Scroll depth", show: (percent) => `${percent.toFixed(1)}%` },
};

function minutes(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}m ${String(whole % 60).padStart(2, "0")}s`;
}

/** `+12% (660 before)`: the change against as many days before. */
function changeOf(now: number, before: number): string {
  if (before === 0) return "(0 before)";
  const percent = Math.round(((now - before) / before) * 100);
  return `${percent < 0 ? "" : "+"}${percent}% (${formatCount(before)} before)`;
}

function drawTable(title: string, lines: readonly Line[], widths: { labelWidth: number; barWidth: number }): string {
  if (lines.length === 0) return `${title}\n-`;
  const showsPageviews = lines.some(({ pageviews }) => pageviews !== undefined);
  const ranked = lines.filter(({ label }) => label !== otherValue);
  const most = Math.max(1, ...ranked.map(({ visitors }) => visitors));
  const row = (label: string, visitors: string, pageviews: string, bar: string) =>
    [
      fit(printable(label) || "-", widths.labelWidth),
      visitors.padStart(columns.visitors),
      (showsPageviews ? pageviews : "").padStart(columns.pageviews),
      " ".repeat(columns.gap) + bar,
    ]
      .join("")
      .trimEnd();
  return [
    row(title, "VISITORS", "PAGE VIEWS", ""),
    ...lines.map(({ label, visitors, pageviews = 0 }) => {
      // `(other)` is no value, and may be longer than every ranked one.
      const bar = label === otherValue ? "" : drawBar(visitors / most, widths.barWidth);
      return row(label, formatCount(visitors), formatCount(pageviews), bar);
    }),
  ].join("\n");
}

function drawBar(share: number, width: number): string {
  const eighths = Math.round(share * width * 8);
  return "█".repeat(Math.floor(eighths / 8)) + (blocks[eighths % 8] ?? "");
}

function toLines(answer: ListAnswer, key: string): Line[] {
  const rows = Array.isArray(answer)
    ? answer
    : Object.entries(answer).map(([value, figures]) => ({ ...figures, [key]: value }));
  return rows.map((row) => ({
    label: String(row[key]),
    visitors: Number(row["visitors"]),
    pageviews: row["pageviews"] === undefined ? undefined : Number(row["pageviews"]),
  }));
}

/** `topPages` as `TOP PAGES`. */
function titleOf(name: string): string {
  return name.replace(/[A-Z]/g, " $&").toUpperCase();
}
