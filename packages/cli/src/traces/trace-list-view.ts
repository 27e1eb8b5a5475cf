import type { ListedTrace, TraceStatus } from "@waymark/client";
import stringWidth from "string-width";
import { cutTo, fit, formatDuration, formatTable, printable, type TerminalStyle } from "../output/terminal-text.js";
import { shortId } from "./trace-id.js";
import type { TailEvent } from "./trace-tail.js";

/** From this width on a terminal shows whole ids and whole times. */
const wideTerminal = 124;
/** Columns of each field, with the gap after it. */
const idWidth = { short: 10, whole: 38 };
const startWidth = { short: 16, whole: 26 };
const durationWidth = 11;
const statusWidth = 9;
const maxAgentWidth = 40;

const columns = ["id", "started", "duration", "status", "agent", "name"] as const;

/**
 * Traces as a table. A terminal below 124 columns gets short ids and times, and agents and names cut to fit. Other output
 * is never cut.
 */
export function drawList(traces: readonly ListedTrace[], style: TerminalStyle): string {
  const { isTerminal, width } = style;
  const size = sizeOf(style);
  const agentWidth = isTerminal ? agentColumn(traces, width, size) : maxAgentWidth;
  const rows = traces.map(({ id, started_at, duration_ms, status, agent_id, name }) => ({
    id: size === "short" ? shortId(id) : id,
    started: size === "short" ? shortTime(started_at) : started_at,
    duration: durationOf(duration_ms),
    status,
    agent: cutTo(printable(agent_id), agentWidth),
    name,
  }));
  const table = formatTable(columns, rows);
  if (!isTerminal) return table;
  const lines = table.split("\n").map((line) => cutTo(line, width));
  return lines.map((line, n) => (isFailed(traces[n - 1]?.status) ? style.red(line) : line)).join("\n");
}

/** The width of the agents' column: two fifths of the free columns at most, so that names keep the rest. */
function agentColumn(traces: readonly ListedTrace[], width: number, size: Size): number {
  const taken = idWidth[size] + startWidth[size] + durationWidth + statusWidth;
  const longest = Math.max(...traces.map(({ agent_id }) => stringWidth(printable(agent_id.slice(0, 200)))));
  return Math.min(longest, maxAgentWidth, Math.max(8, Math.floor(((width - taken) * 2) / 5)));
}

/** A trace of a tail in one line. A terminal below 124 columns gets the time of day and a short id. */
export function drawEvent({ trace }: TailEvent, style: TerminalStyle): string {
  const { id, started_at, ended_at, duration_ms, status, agent_id, name } = trace;
  const time = status === "running" ? started_at : (ended_at ?? started_at);
  const isShort = sizeOf(style) === "short";
  const line = [
    isShort ? time.slice(11, 19) : time,
    status.padEnd(7),
    (durationOf(duration_ms) ?? "-").padStart(8),
    isShort ? shortId(id) : id,
    fit(printable(agent_id), isShort ? 13 : 16),
    printable(name),
  ].join("  ");
  const cut = style.isTerminal ? cutTo(line, style.width) : line;
  return isFailed(status) ? style.red(cut) : cut;
}

type Size = "short" | "whole";

function sizeOf({ isTerminal, width }: TerminalStyle): Size {
  return isTerminal && width < wideTerminal ? "short" : "whole";
}

/** `06-01 12:02:00`: the day and the second, in UTC like all times here. */
function shortTime(time: string): string {
  return time.slice(5, 19).replace("T", " ");
}

function durationOf(ms: number | null): string | null {
  return ms === null ? null : formatDuration(ms * 1_000);
}

function isFailed(status: TraceStatus | undefined): boolean {
  return status === "error" || status === "timeout";
}
