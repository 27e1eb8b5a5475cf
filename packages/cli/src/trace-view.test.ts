import { describe, expect, it } from "@jest/globals";
import type { Span, Trace } from "@waymark/client";
import stringWidth from "string-width";
import { toTreeRows } from "./span-tree.js";
import { cutTo, fit, printable, styleOf } from "./terminal-text.js";
import { formatDuration, toMicros } from "./time-text.js";
import { drawTrace } from "./trace-view.js";

const start = "2026-06-01T12:00:00.000Z";
const span = (id: string, parent: string | null, changes: Partial<Span> = {}): Span => ({
  ...{ id, name: id, status: "ok", started_at: start, ended_at: start, input: null, output: null, error: null },
  parent_span_id: parent,
  ...changes,
});
const rowsOf = (spans: readonly Span[]) => [...toTreeRows(spans)].map(({ span, branch }) => branch + span.id);
const terminal = (columns: number, env = {}) => styleOf({ isTTY: true, columns }, env);
const trace = (spans: Span[], name = "A run"): Trace => ({
  ...{ id: "t", agent_id: "a", name, status: "running", started_at: start, ended_at: null, metadata: null },
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
    const drawn = drawTrace(trace(wide), terminal(columns, { NO_COLOR: "1" }), 100);
    const widths = drawn.split("\n").map((line) => stringWidth(line));
    expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(200, Math.max(40, columns)));
    expect(drawn).not.toContain("\u001b");
  });

  it("has colours on a terminal alone, and not with NO_COLOR", () => {
    const red = "\u001b[31m";
    expect(drawTrace(trace(wide), terminal(80), 100)).toContain(red);
    expect(drawTrace(trace(wide), terminal(80, { NO_COLOR: "1" }), 100)).not.toContain(red);
    expect(drawTrace(trace(wide), styleOf({}, {}), 100)).not.toContain("\u001b");
  });

  it("marks failed spans and those that run also without colours", () => {
    const drawn = drawTrace(trace(wide), styleOf({}, {}), 100);
    expect(drawn).toMatch(/✗ 👩‍👩‍👧 family/);
    expect(drawn).toMatch(/open .* running +░/);
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
