import type { ListedTrace, TraceStatus } from "@waymark/client";
import stringWidth from "string-width";
import { formatTable } from "./table.js";
import { cutTo, fit, printable, type TerminalStyle } from "./terminal-text.js";
import { formatDuration } from "./time-text.js";
import type { TailEvent } from "./trace-tail.js";

const gap = 2;
/** An id is never cut: `trace show` takes it whole. */
const idWidth = 36;
const statusWidth = 7;
const maxAgentWidth = 40;

/** From these widths on a terminal has room for the start in short, for the duration too, and for the whole start. */
const roomFor = { shortStart: 100, duration: 110, wholeStart: 124 };

const columns = ["id", "started", "duration", "status", "agent", "name"] as const;

/** Traces as a table. On a terminal times make way for status, agent and name, which are cut to fit; ids stay whole. */
export function drawList(traces: readonly ListedTrace[], style: TerminalStyle): string {
  const { isTerminal, width } = style;
  const shown = columns.filter((column) => {
    if (!isTerminal) return true;
    if (column === "started") return width >= roomFor.shortStart;
    return column !== "duration" || width >= roomFor.duration;
  });
  const startOf = (time: string) => (isTerminal && width < roomFor.wholeStart ? shortTime(time) : time);
  const agentWidth = isTerminal ? agentRoom(traces, shown, width) : maxAgentWidth;
  const rows = traces.map(({ id, started_at, duration_ms, status, agent_id, name }) => ({
    id,
    started: startOf(started_at),
    duration: durationOf(duration_ms),
    status,
    agent: cutTo(printable(agent_id), agentWidth),
    name,
  }));
  const table = formatTable(shown, rows);
  if (!isTerminal) return table;
  const lines = table.split("\n").map((line) => cutTo(line, width));
  return lines.map((line, n) => (isFailed(traces[n - 1]?.status) ? style.red(line) : line)).join("\n");
}

/** What agents may take: of the room that is left two fifths, so that names keep the rest. */
function agentRoom(traces: readonly ListedTrace[], shown: readonly string[], width: number): number {
  const startWidth = width < roomFor.wholeStart ? shortTime("").length : 24;
  const taken =
    idWidth +
    gap +
    (shown.includes("started") ? startWidth + gap : 0) +
    (shown.includes("duration") ? 8 + gap : 0) +
    (statusWidth + gap);
  const longest = Math.max(...traces.map(({ agent_id }) => stringWidth(printable(agent_id.slice(0, 200)))));
  return Math.min(longest, maxAgentWidth, Math.max(8, Math.floor(((width - taken) * 2) / 5)));
}

/** A trace that a tail tells of, in a line. A narrow terminal has the time of the day, and no duration. */
export function drawEvent({ trace }: TailEvent, style: TerminalStyle): string {
  const { id, started_at, ended_at, duration_ms, status, agent_id, name } = trace;
  const time = status === "running" ? started_at : (ended_at ?? started_at);
  const isNarrow = style.isTerminal && style.width < roomFor.wholeStart;
  const line = [
    isNarrow ? time.slice(11, 19) : time,
    status.padEnd(statusWidth),
    ...(isNarrow && style.width < roomFor.shortStart ? [] : [(durationOf(duration_ms) ?? "-").padStart(8)]),
    id,
    fit(printable(agent_id), isNarrow ? 10 : 16),
    printable(name),
  ].join(" ".repeat(gap));
  const cut = style.isTerminal ? cutTo(line, style.width) : line;
  return isFailed(status) ? style.red(cut) : cut;
}

/** `06-01 12:02:00`: the day and the second, in UTC as all times here. */
function shortTime(time: string): string {
  return time.slice(5, 19).replace("T", " ").padEnd(14);
}

function durationOf(ms: number | null): string | null {
  return ms === null ? null : formatDuration(ms * 1_000);
}

function isFailed(status: TraceStatus | undefined): boolean {
  return status === "error" || status === "timeout";
}
