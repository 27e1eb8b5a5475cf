import { describe, expect, it } from "@jest/globals";
import type { OutlinePage } from "@waymark/traces";
import { addPage, extentOf, type Span } from "./spans.js";

const noLabels = { session_id: null, user_id: null, environment: null, release: null, tags: [] };

const page = (more: Partial<OutlinePage> = {}): OutlinePage => ({
  trace: { id: "t", agent_id: "a", name: "n", status: "running", started_at: "", ended_at: null, ...noLabels },
  ...{
    at: "",
    next: null,
    id: ["a", "b"],
    parent: [null, "A"],
    names: ["step"],
    name: [0, 0],
    kinds: ["model", "other"],
    kind: [1, 0],
  },
  start: [0, 1_500],
  duration: [null, -20],
  flags: [0, 9],
  errors: { 1: "broke" },
  ...more,
});

describe("addPage", () => {
  it("adds spans in milliseconds, a negative duration as none", () => {
    const spans = new Map<string, Span>();
    expect(addPage(spans, page())).toBe(true);
    expect(spans.get("a")).toMatchObject({ parentId: undefined, end: undefined, isFailed: false, kind: "other" });
    const broken = {
      parentId: "a",
      start: 1.5,
      end: 1.5,
      isReversed: true,
      isFailed: true,
      error: "broke",
      kind: "model",
    };
    expect(spans.get("b")).toMatchObject({ ...broken, has: { error: true, input: false } });
  });

  it("says whether a page changed anything, and keeps the same spans", () => {
    const spans = new Map<string, Span>();
    addPage(spans, page());
    const first = spans.get("a");
    expect(addPage(spans, page())).toBe(false);
    expect(spans.get("a")).toBe(first);
    expect(addPage(spans, page({ duration: [7_000, -20] }))).toBe(true);
    expect(spans.get("a")?.end).toBe(7);
    expect([...spans.keys()]).toEqual(["a", "b"]);
  });
});

describe("extentOf", () => {
  it("holds the trace and spans outside of it, and is never empty", () => {
    const spans = new Map<string, Span>();
    expect(extentOf([], undefined)).toEqual({ from: 0, to: 0.001 });
    addPage(spans, page({ start: [-2_000, 1_500] }));
    expect(
      extentOf(
        [...spans.values()].map((span) => ({ span })),
        9,
      ),
    ).toEqual({ from: -2, to: 9 });
  });
});
