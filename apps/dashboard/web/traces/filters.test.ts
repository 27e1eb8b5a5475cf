import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { zone } from "../ui/preferences.js";
import { activeFilters, type Filters, isOpenEnded, pathOf, readFilters, withRange, writeFilters } from "./filters.js";

const noFilters: Filters = {
  text: "",
  status: "all",
  agent: "",
  longerMs: 0,
  range: "",
  from: "",
  to: "",
  after: "",
  labels: {},
  columns: "",
};

describe("the filters", () => {
  const days = [
    { range: "custom", from: "2026-02-28", to: "2026-03-01" },
    { range: "custom", from: "2026-02-28", to: "2026-02-28" },
    ...(["", "1h", "24h", "7d", "30d"] as const).map((range) => ({ range, from: "", to: "" })),
  ] as const;
  const label = fc.string({ minLength: 1, maxLength: 200, unit: "grapheme-ascii" });
  const filters = fc
    .tuple(
      fc.record({
        text: fc.string({ maxLength: 200 }),
        status: fc.constantFrom("all" as const, "failed" as const, "running" as const),
        agent: fc.string(),
        longerMs: fc.nat(),
        after: fc.base64String(),
        columns: fc.constantFrom("", "none", "agent,cost"),
        labels: fc.record(
          { session: label, user: label, environment: label, release: label, tag: label },
          { requiredKeys: [] },
        ),
      }),
      fc.constantFrom(...days),
    )
    .map(([own, range]): Filters => ({ ...own, ...range }));

  it("come back from the address as they went in", () => {
    fc.assert(
      fc.property(filters, (own) => {
        expect(
          readFilters(writeFilters({ ...own, text: own.text.toWellFormed(), agent: own.agent.toWellFormed() })),
        ).toEqual({
          ...own,
          text: own.text.toWellFormed(),
          agent: own.agent.toWellFormed(),
        });
      }),
    );
  });

  it("count unknown values as none", () => {
    expect(readFilters("?status=done&range=9y&longer=-1")).toEqual(noFilters);
    for (const days of ["from=2026-01-02&to=2026-01-01", "from=2026-01-01", "from=2026-02-30&to=2026-03-01"])
      expect(readFilters(`?${days}`)).toEqual(noFilters);
  });

  it("become the API's query", () => {
    const own: Filters = { ...noFilters, text: " a&b ", status: "failed", agent: "x", longerMs: 60_000, range: "1h" };
    expect(pathOf(own, new Date("2026-06-01T12:34:56.789Z"), { cursor: "c", limit: 1 })).toBe(
      "/traces?limit=1&q=a%26b&status=error%2Ctimeout&agent_id=x&min_duration_ms=60000&from=2026-06-01T11%3A34%3A00.000Z&cursor=c",
    );
    expect(pathOf(noFilters, new Date())).toBe("/traces");
    expect(pathOf({ ...noFilters, text: ' "" ' }, new Date())).toBe("/traces");
    expect(activeFilters(own).map(({ label }) => label)).toEqual([
      "With “a&b”",
      "Failed",
      "Agent “x”",
      "Longer than 1 min",
      "Last hour",
    ]);
    for (const { without } of activeFilters(own)) expect(activeFilters(without)).toHaveLength(4);
  });

  it("take labels by their short names, each of which can be dropped", () => {
    const own = readFilters("?session=chat+7&user=u%2F1&environment=live&release=2.1&tag=beta");
    expect(pathOf(own, new Date())).toBe(
      "/traces?session_id=chat+7&user_id=u%2F1&environment=live&release=2.1&tag=beta",
    );
    expect(readFilters(writeFilters(own))).toEqual(own);
    const active = activeFilters(own);
    expect(active.map(({ label }) => label)).toEqual([
      "Conversation “chat 7”",
      "User “u/1”",
      "Environment “live”",
      "Release “2.1”",
      "Tag “beta”",
    ]);
    expect(writeFilters(active[1]?.without ?? noFilters)).toBe("?session=chat+7&environment=live&release=2.1&tag=beta");
    expect(readFilters(`?user=${"a".repeat(201)}`).labels).toEqual({ user: "a".repeat(200) });
  });

  it("take both days of a custom range whole, and begin one with the last seven days", () => {
    zone.value = "UTC";
    const now = new Date("2026-03-03T12:00:00Z");
    const week = withRange({ ...noFilters, range: "1h" }, "custom", now);
    expect(week).toEqual({ ...noFilters, range: "custom", from: "2026-02-25", to: "2026-03-03" });
    expect(pathOf(week, now)).toBe("/traces?from=2026-02-25T00%3A00%3A00.000Z&to=2026-03-04T00%3A00%3A00.000Z");
    expect(writeFilters(week)).toBe("?from=2026-02-25&to=2026-03-03");
    expect(activeFilters(week)).toEqual([{ label: "2026-02-25 to 2026-03-03", without: noFilters }]);
    expect(activeFilters({ ...week, to: week.from })[0]?.label).toBe("2026-02-25");
    expect(withRange(week, "7d", now)).toEqual({ ...noFilters, range: "7d" });
    expect([week, noFilters].map(isOpenEnded)).toEqual([false, true]);
  });
});
