import type { Span, Trace, TraceUsage } from "@waymark/client";
import { JsonText, layOutJson } from "@waymark/service/fields";
import stringWidth from "string-width";
import {
  cutTo,
  fit,
  formatCount,
  formatDuration,
  formatFields,
  formatTable,
  printable,
  type TerminalStyle,
  toMicros,
} from "../output/terminal-text.js";
import { shortId } from "./trace-id.js";

const timeWidth = 10;
/** Columns of a span's short id, and the narrowest terminal that has them. */
const idWidth = 8;
const idsFromWidth = 60;
/** Shorter bars show nothing and are left out. */
const minBarWidth = 10;
const gap = "  ";

/** The time span of the bars, in microseconds. */
interface Window {
  from: number;
  length: number;
}

interface DrawOptions {
  /** Spans to draw; a last line counts the others. */
  maxSpans: number;
  /** Whole inputs, outputs, errors, metadata and span ids, instead of a line each. */
  isFull?: boolean;
}

/** Draws a trace: its fields, then its spans as a tree with bars for their time, and their errors, inputs and outputs. */
export function drawTrace(trace: Trace, style: TerminalStyle, { maxSpans, isFull = false }: DrawOptions): string {
  const window = windowOf(trace);
  const rows: TreeRow[] = [];
  let failedBeyond = 0;
  for (const row of toTreeRows(trace.spans)) {
    if (rows.length < maxSpans) rows.push(row);
    else if (row.span.status === "error") failedBeyond++;
  }
  const parts = [style.bold(printable(trace.name)), drawFields(trace, style, isFull)];
  if (trace.usage) parts.push("", drawUsage(trace.usage, style));
  if (rows.length > 0) parts.push("", ...drawRows(rows, window, style, isFull));
  const beyond = trace.spans.length - rows.length;
  if (beyond > 0) {
    const failed = failedBeyond > 0 ? `, ${formatCount(failedBeyond)} of them with an error` : "";
    parts.push(`... and ${formatCount(beyond)} more spans${failed}; --spans ${trace.spans.length} shows all of them.`);
  }
  return parts.join("\n");
}

function drawFields(trace: Trace, style: TerminalStyle, isFull: boolean): string {
  const metadata = trace.metadata && printable(textOf(trace.metadata));
  const failed = trace.spans.filter(({ status }) => status === "error").length;
  const ended = trace.ended_at === null ? "" : ` to ${trace.ended_at}, ${durationOf(trace)}`;
  const fields = {
    id: trace.id,
    agent: trace.agent_id,
    status: trace.status,
    time: `${trace.started_at}${ended}`,
    spans: `${formatCount(trace.spans.length)}${failed > 0 ? `, ${formatCount(failed)} with an error` : ""}`,
    ...(metadata && { metadata: isFull ? metadata : cutTo(metadata, style.width - 10) }),
  };
  return formatFields(fields);
}

function drawUsage({ models, ...whole }: TraceUsage, style: TerminalStyle): string {
  const sums = ["calls", "input_tokens", "output_tokens", "cost_usd"] as const;
  const calls = models.reduce((all, model) => all + model.calls, 0);
  const rows = models.length > 1 ? [...models, { ...whole, calls, model: "all", provider: null }] : models;
  const [head, ...lines] = formatTable(["model", "provider", ...sums], rows).split("\n");
  return [style.dim(head ?? ""), ...lines].join("\n");
}

function drawRows(rows: readonly TreeRow[], window: Window, style: TerminalStyle, isFull: boolean): string[] {
  // Not a call with all of them: there may be more spans than a call takes arguments.
  const longest = rows.reduce(
    (most, { span, branch }) => Math.max(most, branch.length + stringWidth(labelOf(span))),
    4,
  );
  const hasIds = style.width >= idsFromWidth;
  const free = style.width - 2 * (timeWidth + gap.length) - (hasIds ? idWidth + gap.length : 0);
  const nameWidth = Math.min(longest, Math.max(16, Math.floor(free / 2)));
  const barWidth = free - nameWidth - gap.length;
  const hasBars = barWidth >= minBarWidth;
  const length = formatDuration(window.length);
  const head = [
    fit("SPAN", nameWidth),
    ...(hasIds ? ["ID".padEnd(idWidth)] : []),
    "START".padStart(timeWidth),
    "DURATION".padStart(timeWidth),
    ...(hasBars ? [`0${length.padStart(barWidth - 1)}`] : []),
  ].join(gap);
  const lines = rows.flatMap(({ span, branch }) => {
    const name = fit(`${branch}${labelOf(span)}`, nameWidth);
    const isFailed = span.status === "error";
    const start = formatOffset(toMicros(span.started_at) - window.from).padStart(timeWidth);
    const duration = (span.ended_at === null ? "running" : durationOf(span)).padStart(timeWidth);
    const bar = hasBars ? [drawBar(span, window, barWidth)] : [];
    const id = hasIds ? [shortId(span.id).padEnd(idWidth)] : [];
    const line = [name, ...id, start, duration, ...bar].join(gap).trimEnd();
    const indent = " ".repeat(Math.max(0, Math.min(branch.length, nameWidth - 8)) + 2);
    return [isFailed || span.error !== null ? style.red(line) : line, ...drawContent(span, indent, style, isFull)];
  });
  return [style.dim(head.trimEnd()), ...lines];
}

export function drawSpan(span: Span, trace: Trace, style: TerminalStyle): string {
  const section = (title: string, value: unknown, paint = (line: string) => line) =>
    value === null || value === undefined ? [] : ["", style.bold(title), ...toLines(textOf(value, 2)).map(paint)];
  const ended = span.ended_at === null ? ", running" : ` to ${span.ended_at}, ${durationOf(span)}`;
  const fields = {
    id: span.id,
    parent: span.parent_span_id,
    trace: `${trace.id} (${trace.name})`,
    status: span.status,
    time: `${span.started_at}${ended}`,
  };
  return [
    style.bold(printable(span.name)),
    formatFields(fields),
    ...section("error", span.error, style.red),
    ...section("input", span.input),
    ...section("output", span.output),
  ].join("\n");
}

function toLines(text: string): string[] {
  return text.split(/\r\n|\r|\n/).map(printable);
}

function drawContent(span: Span, indent: string, style: TerminalStyle, isFull: boolean): string[] {
  const draw = (mark: string, value: unknown) => {
    if (value === null || value === undefined) return [];
    const start = indent + mark;
    if (!isFull)
      return [start + cutTo(printable(textOf(value).slice(0, style.width * 16)), style.width - start.length)];
    const [first = "", ...more] = toLines(textOf(value, 2));
    return [start + first, ...more.map((line) => " ".repeat(start.length) + line)];
  };
  return [
    ...draw("! ", span.error).map(style.red),
    ...(isFull ? draw("id  ", span.id) : []).map(style.dim),
    ...draw("in  ", span.input).map(style.dim),
    ...draw("out ", span.output).map(style.dim),
  ];
}

function textOf(value: unknown, indent?: number): string {
  if (value instanceof JsonText) {
    return value.text.startsWith('"') ? (JSON.parse(value.text) as string) : layOutJson(value.text, indent);
  }
  return typeof value === "string" ? value : JSON.stringify(value, null, indent);
}

/** Marks a failed span in its name, since colours may be off. */
function labelOf({ name, status }: Span): string {
  return `${status === "error" ? "✗ " : ""}${printable(name)}`;
}

/** At least one cell; a running span gets a light bar up to the end. */
function drawBar(span: Span, { from, length }: Window, width: number): string {
  const cellOf = (micros: number) => (length > 0 ? ((micros - from) / length) * width : 0);
  const first = Math.min(width - 1, Math.floor(cellOf(toMicros(span.started_at))));
  const end = span.ended_at === null ? width : Math.ceil(cellOf(toMicros(span.ended_at)));
  const cells = Math.max(1, Math.min(width, end) - first);
  return " ".repeat(first) + (span.ended_at === null ? "░" : "█").repeat(cells);
}

function windowOf(trace: Trace): Window {
  let [from, to] = [toMicros(trace.started_at), toMicros(trace.ended_at ?? trace.started_at)];
  for (const { started_at, ended_at } of trace.spans) {
    const startedAt = toMicros(started_at);
    from = Math.min(from, startedAt);
    to = Math.max(to, startedAt, ended_at === null ? startedAt : toMicros(ended_at));
  }
  return { from, length: to - from };
}

function durationOf({ started_at, ended_at }: { started_at: string; ended_at: string | null }): string {
  return ended_at === null ? "-" : formatDuration(toMicros(ended_at) - toMicros(started_at));
}

function formatOffset(micros: number): string {
  return micros === 0 ? "0" : `+${formatDuration(micros)}`;
}

interface TreeRow {
  span: Span;
  /** The lines before its name, such as `│  └─ `. */
  branch: string;
}

/** Deeper spans get the same indent, since a chain of thousands does not fit a terminal. */
const maxDepth = 16;

interface Waiting {
  span: Span;
  depth: number;
  /** The branch of the rows below. */
  trunk: string;
  isLast: boolean;
}

/**
 * Orders spans as a tree, children by their start. Every span comes once. A span without its parent in the
 * trace stands at the top, and so does one span of a circle of parents.
 */
export function* toTreeRows(spans: readonly Span[]): Generator<TreeRow, void, void> {
  const byStart = spans.map((span) => ({ span, at: toMicros(span.started_at) })).sort((a, b) => a.at - b.at);
  const tops: Span[] = [];
  const childrenOf = new Map<string | null, Span[]>(spans.map(({ id }) => [id, []]));
  for (const { span } of byStart) (childrenOf.get(span.parent_span_id) ?? tops).push(span);
  const waiting: Waiting[] = [];
  /** In reverse order, since the last one added comes first. */
  const add = (children: readonly Span[], depth: number, trunk: string) => {
    for (const [index, span] of [...children.entries()].reverse()) {
      waiting.push({ span, depth, trunk, isLast: index === children.length - 1 });
    }
  };
  // After the trees of the tops, only circles are left of all spans.
  add(
    Array.from(byStart, ({ span }) => span),
    0,
    "",
  );
  add(tops, 0, "");
  const seen = new Set<string>();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { span, depth, trunk, isLast } = next;
    if (seen.has(span.id)) continue;
    seen.add(span.id);
    yield { span, branch: depth === 0 ? "" : `${trunk}${isLast ? "└─ " : "├─ "}` };
    const below = depth === 0 || depth >= maxDepth ? trunk : `${trunk}${isLast ? "   " : "│  "}`;
    add(childrenOf.get(span.id) ?? [], depth + 1, below);
  }
}
