import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { TraceRow } from "../../src/traces/traces.route.js";
import { zone } from "../ui/preferences.js";
import { changeRows, groupByDay, insertRows, newestId } from "./rows.js";

const row = (part: Partial<TraceRow>): TraceRow => ({
  id: "1",
  agent_id: "writer",
  name: "a trace",
  status: "success",
  started_at: "2026-06-01T12:00:00.000Z",
  ended_at: null,
  duration_ms: 1,
  error: null,
  isMailed: false,
  ...part,
});

const rows = fc.uniqueArray(
  fc
    .record({
      id: fc.uuid(),
      micros: fc.integer({ min: 0, max: 3_000 }),
      status: fc.constantFrom("running" as const, "error" as const),
    })
    .map(({ id, micros, status }) => {
      const fraction = String(micros).padStart(6, "0").replace(/000$/, "");
      return row({ id, status, started_at: `2026-06-01T12:00:00.${fraction}Z` });
    }),
  { selector: ({ id }) => id, maxLength: 30 },
);
const micros = ({ started_at }: TraceRow) => Number(started_at.slice(20).replace("Z", "").padEnd(6, "0"));

describe("insertRows", () => {
  it("sorts by start and id, with and without microseconds, and keeps each row once", () => {
    fc.assert(
      fc.property(rows, fc.nat(30), (all, cut) => {
        const sorted = insertRows(insertRows([], all.slice(0, cut), false), all, false);
        const expected = [...all].sort((a, b) => micros(b) - micros(a) || (a.id < b.id ? 1 : -1));
        expect(sorted.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
      }),
    );
  });

  it("leaves rows below the last one to their page while the list goes on", () => {
    const shown = [row({ id: "b", started_at: "2026-06-01T12:00:00Z" })];
    const older = row({ id: "a", started_at: "2026-06-01T11:00:00Z" });
    expect(insertRows(shown, [older], true)).toEqual(shown);
    expect(insertRows(shown, [older], false)).toEqual([...shown, older]);
  });
});

describe("changeRows", () => {
  it("changes rows in their places, drops those that are gone, and is the same array without a change", () => {
    const shown = [row({ id: "c" }), row({ id: "b", status: "running" }), row({ id: "a" })];
    const failed = row({ id: "b", status: "error", error: "refused" });
    expect(changeRows(shown, [failed], ["c"])).toEqual([failed, shown[2]]);
    expect(changeRows(shown, [row({ id: "b", status: "running" }), row({ id: "x" })], ["y"])).toBe(shown);
  });

  it("keeps a known error where it was not read in time", () => {
    const shown = [row({ status: "error", error: "refused" })];
    expect(changeRows(shown, [row({ status: "error", isMailed: true })], [])).toMatchObject([
      { error: "refused", isMailed: true },
    ]);
  });
});

it("groups rows by the day of their start, and finds the newest id", () => {
  zone.value = "UTC";
  const shown = [
    row({ id: "b", started_at: "2026-06-02T00:00:00Z" }),
    row({ id: "c", started_at: "2026-06-01T23:59:59Z" }),
    row({ id: "a", started_at: "2026-06-01T00:00:00Z" }),
  ];
  expect(groupByDay(shown).map(({ day, rows: ofDay }) => [day, ofDay.length])).toEqual([
    ["2026-06-02", 1],
    ["2026-06-01", 2],
  ]);
  expect(newestId(shown)).toBe("c");
  expect(newestId([])).toBeUndefined();
});
