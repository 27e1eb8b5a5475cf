import { describe, expect, it } from "@jest/globals";
import type { Span, Trace } from "@waymark/client";
import stringWidth from "string-width";
import { cutTo, fit, formatDuration, printable, styleOf, toMicros } from "../output/terminal-text.js";
import { drawEvent, drawList } from "./trace-list-view.js";
import { drawSpan, drawTrace, toTreeRows } from "./trace-view.js";

const start = "2026-06-01T12:00:00.000Z";
const span = (id: string, parent: string | null, changes: Partial<Span> = {}): Span => ({
  id,
  name: id,
  status: "ok",
  started_at: start,
  ended_at: start,
  input: null,
  output: null,
  error: null,
  parent_span_id: parent,
  ...changes,
});
const rowsOf = (spans: readonly Span[]) => [...toTreeRows(spans)].map(({ span, branch }) => branch + span.id);
const terminal = (columns: number, env = {}) => styleOf({ isTTY: true, columns }, env);
const trace = (spans: Span[], name = "A run"): Trace => ({
  id: "t",
  agent_id: "a",
  name,
  status: "running",
  started_at: start,
  ended_at: null,
  metadata: null,
  spans,
});

describe("the tree", () => {
  it("has children by their start, below their parents", () => {
    const late = { started_at: "2026-06-01T12:00:00.000500Z" };
    const spans = [span("c", "a"), span("b", "a", late), span("a", null), span("d", "c"), span("e", null, late)];
    expect(rowsOf(spans)).toEqual(["a", "├─ c", "│  └─ d", "└─ b", "e"]);
  });

  it("has every span once, whatever the parents are", () => {
    const spans = [span("lost", "elsewhere"), span("self", "self"), span("x", "y"), span("y", "x"), span("z", "y")];
    expect(rowsOf(spans)).toEqual(["lost", "self", "x", "└─ y", "   └─ z"]);
  });

  it("of a chain of 20,000 is drawn without growing into the width", () => {
    const chain = Array.from({ length: 20_000 }, (_, n) => span(String(n), n === 0 ? null : String(n - 1)));
    const rows = [...toTreeRows(chain)];
    expect(rows).toHaveLength(20_000);
    expect(Math.max(...rows.map(({ branch }) => branch.length))).toBeLessThan(60);
  });
});

describe("a drawing", () => {
  const wide = [
    span("客服机器人回答了一个很长的问题".repeat(8), null),
    span("👩‍👩‍👧 family", "none", { error: "x".repeat(500), status: "error" }),
    span("open", null, { ended_at: null }),
  ];

  it.each([1, 40, 80, 120, 200, 5_000])("fits a terminal of %i columns, or of the bound", (columns) => {
    const drawn = drawTrace(trace(wide), terminal(columns, { NO_COLOR: "1" }), { maxSpans: 100 });
    const widths = drawn.split("\n").map((line) => stringWidth(line));
    expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(200, Math.max(40, columns)));
    expect(drawn).not.toContain("\u001b");
  });

  it("has colours on a terminal alone, and not with NO_COLOR", () => {
    const red = "\u001b[31m";
    expect(drawTrace(trace(wide), terminal(80), { maxSpans: 100 })).toContain(red);
    expect(drawTrace(trace(wide), terminal(80, { NO_COLOR: "1" }), { maxSpans: 100 })).not.toContain(red);
    expect(drawTrace(trace(wide), styleOf({}, {}), { maxSpans: 100 })).not.toContain("\u001b");
  });

  it("marks failed spans and those that run also without colours", () => {
    const drawn = drawTrace(trace(wide), styleOf({}, {}), { maxSpans: 100 });
    expect(drawn).toMatch(/✗ 👩‍👩‍👧 family/);
    expect(drawn).toMatch(/open +open .* running +░/);
  });
});

describe("what spans took and gave", () => {
  const content = span("pay", null, {
    id: "span-1",
    name: "pay",
    status: "error",
    error: `refused\n${"e".repeat(200)}`,
    input: { order: 1042, note: "n".repeat(200) },
    output: "two\nlines",
  });

  it("is a line each, cut to the width", () => {
    const lines = drawTrace(trace([content]), terminal(80, { NO_COLOR: "1" }), { maxSpans: 100 }).split("\n");
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(/^ {2}! refused e+…$/),
      expect.stringMatching(/^ {2}in {2}\{"order":1042,"note":"n+…$/),
      "  out two lines",
    ]);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(80);
    expect(lines.join()).not.toContain("id  span-1");
  });

  it("is whole where asked, with the span's id", () => {
    const drawn = drawTrace(trace([content]), terminal(80, { NO_COLOR: "1" }), { maxSpans: 100, isFull: true });
    const lines = drawn.split("\n").slice(-9);
    expect(lines).toEqual([
      "  ! refused",
      `    ${"e".repeat(200)}`,
      "  id  span-1",
      "  in  {",
      '        "order": 1042,',
      `        "note": "${"n".repeat(200)}"`,
      "      }",
      "  out two",
      "      lines",
    ]);
  });
});

describe("a list", () => {
  const id = "019c13f2-6c00-7cc3-98c4-dc0c0c07398f";
  const listed = (status: "success" | "timeout", agent_id: string, name: string) => ({
    id,
    agent_id,
    name,
    status,
    started_at: start,
    ended_at: start,
    duration_ms: 1_500,
  });
  const traces = [
    listed("success", "billing-agent", "Refund order 1042"),
    listed("timeout", "a".repeat(99), "b".repeat(99)),
  ];

  it("of a terminal with 80 columns has short ids, times, durations, states, agents and names", () => {
    const lines = drawList(traces, terminal(80, { NO_COLOR: "1" })).split("\n");
    expect(lines).toEqual([
      "ID        STARTED         DURATION  STATUS   AGENT          NAME",
      "0c07398f  06-01 12:00:00  1.5 s     success  billing-agent  Refund order 1042",
      `0c07398f  06-01 12:00:00  1.5 s     timeout  ${"a".repeat(12)}…  ${"b".repeat(19)}…`,
    ]);
  });

  it.each([80, 100, 120, 200])("of %i columns fits, with every column", (columns) => {
    const lines = drawList(traces, terminal(columns, { NO_COLOR: "1" })).split("\n");
    expect(lines[0]).toMatch(/^ID +STARTED +DURATION +STATUS +AGENT +NAME/);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(columns);
    for (const line of lines.slice(1)) expect(line).toMatch(/(Refund order 1042|b…)$/);
  });

  it.each([124, 200])("of %i columns has whole ids and times", (columns) => {
    const [, line] = drawList(traces, terminal(columns, { NO_COLOR: "1" })).split("\n");
    expect(line?.startsWith(`${id}  ${start}  1.5 s  `)).toBe(true);
  });

  it("of events has durations, short ids, agents and names at 80 columns too", () => {
    const [trace] = traces;
    if (!trace) throw new Error("There is one");
    const line = drawEvent({ event: "new", trace }, terminal(80, { NO_COLOR: "1" }));
    expect(line).toBe("12:00:00  success     1.5 s  0c07398f  billing-agent  Refund order 1042");
    expect(drawEvent({ event: "new", trace }, styleOf({}, {}))).toContain(`${start}  success     1.5 s  ${id}`);
  });
});

describe("a span alone", () => {
  const failed = span("span-1", "root", {
    name: "pay\u001b[2J",
    status: "error",
    error: `refused\n${"e".repeat(300)}`,
    input: { order: 1042 },
    output: "two\nlines",
  });

  it("has its error, input and output in full", () => {
    const text = drawSpan(failed, trace([failed]), terminal(80, { NO_COLOR: "1" }));
    expect(text.split("\n")).toEqual([
      "pay [2J",
      "id      span-1",
      "parent  root",
      "trace   t (A run)",
      "status  error",
      `time    ${start} to ${start}, 0 µs`,
      "",
      "error",
      "refused",
      "e".repeat(300),
      "",
      "input",
      "{",
      '  "order": 1042',
      "}",
      "",
      "output",
      "two",
      "lines",
    ]);
  });

  it("without error, input and output has its fields alone", () => {
    const text = drawSpan(span("s", null, { ended_at: null }), trace([]), styleOf({}, {}));
    expect(text).toMatch(/parent {2}-\n.*\nstatus {2}ok\ntime {4}.*, running$/);
  });
});

it("texts are cut and filled by the columns that they take", () => {
  expect(fit("abc", 5)).toBe("abc  ");
  expect(cutTo("abcdef", 4)).toBe("abc…");
  expect(cutTo("客服机器人", 5)).toBe("客服…");
  expect(fit("客服机器人", 6)).toBe("客服… ");
  expect(cutTo("a".repeat(1_000_000), 3)).toBe("aa…");
  expect(cutTo("abc", 0)).toBe("");
});

it("nothing printable is an order to a terminal", () => {
  const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).join("");
  expect(printable(all)).toHaveLength(all.length);
  expect(printable(all)).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
});

it("lengths of time have about three digits", () => {
  const micros = [
    0, 999, 1_000, 12_345, 999_499, 999_500, 4_250_000, 59_940_000, 59_950_000, 3_599_400_000, 11_520_000_000,
  ];
  expect(micros.map(formatDuration)).toEqual([
    "0 µs",
    "999 µs",
    "1 ms",
    "12.3 ms",
    "999 ms",
    "1 s",
    "4.25 s",
    "59.9 s",
    "1 m 00 s",
    "59 m 59 s",
    "3 h 12 m",
  ]);
  expect(formatDuration(-2_000_000)).toBe("-2 s");
  expect(formatDuration(400_000_000_000)).toBe("5 d");
});

it("timestamps are read to the microsecond", () => {
  expect(toMicros("2026-06-01T12:00:00.000500Z") - toMicros("2026-06-01T12:00:00.000Z")).toBe(500);
  expect(toMicros("2026-06-01T12:00:00.0005Z") - toMicros("2026-06-01T12:00:00Z")).toBe(500);
});
