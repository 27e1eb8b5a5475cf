import { describe, expect, it } from "@jest/globals";
import type { ListedTrace, TracePage, TraceQuery } from "@waymark/client";
import { type TailEvent, tailTraces } from "./trace-tail.js";

const at = (second: number) => new Date(Date.parse("2026-06-01T12:00:00Z") + second * 1_000).toISOString();

/** A list of traces as the API gives it, and a tail of it that looks once for each step, after the step was taken. */
async function follow(stored: ListedTrace[], steps: (() => void)[], lines = 0): Promise<TailEvent[]> {
  const events: TailEvent[] = [];
  const stop = new AbortController();
  const listTraces = async ({ limit = 50, cursor = "0" }: TraceQuery = {}): Promise<TracePage> => {
    const sorted = stored.toSorted((a, b) => (a.started_at + a.id < b.started_at + b.id ? 1 : -1));
    const [start, end] = [Number(cursor), Number(cursor) + limit];
    return { traces: sorted.slice(start, end), next_cursor: end < sorted.length ? String(end) : null };
  };
  await tailTraces({
    ...{ api: { listTraces }, query: {}, lines, signal: stop.signal },
    onEvent: (event) => void events.push(event),
    onTrouble: () => undefined,
    onRecovery: () => undefined,
    async sleep() {
      const step = steps.shift();
      if (step) step();
      else stop.abort();
    },
  });
  return events;
}

const trace = (id: string, second: number, status: ListedTrace["status"] = "success"): ListedTrace => ({
  ...{ id, agent_id: "a", name: id, status, started_at: at(second), ended_at: null, duration_ms: null },
});
const history = (count: number) => Array.from({ length: count }, (_, n) => trace(`old-${n}`, n));

describe("a tail", () => {
  it("of an account with more traces than a page tells none of its history as new", async () => {
    const stored = [...history(1_500), trace("runs", 1_600, "running")];
    const events = await follow(stored, [
      () => void stored.push(trace("first", 2_000)),
      // A run that is gone makes it read as far back as it can.
      () =>
        void stored.splice(
          stored.findIndex(({ id }) => id === "runs"),
          1,
        ),
      () => void stored.push(...Array.from({ length: 300 }, (_, n) => trace(`burst-${n}`, 3_000 + n))),
      () => undefined,
    ]);
    const told = ["first", ...Array.from({ length: 300 }, (_, n) => `burst-${n}`)];
    expect(events.map(({ event, trace: { id } }) => `${event} ${id}`)).toEqual(told.map((id) => `new ${id}`));
  });

  it("tells a trace that began long ago and comes late, where all from then on was read", async () => {
    const stored = history(150);
    const events = await follow(stored, [() => void stored.push(trace("late", -60)), () => undefined], 1);
    expect(events.map(({ trace: { id } }) => id)).toEqual(["old-149", "late"]);
  });

  it("tells changes of what it has read, and nothing of what it has forgotten", async () => {
    const stored = history(300);
    const change = (id: string) => {
      const place = stored.findIndex((each) => each.id === id);
      const before = stored[place];
      if (before) stored[place] = { ...before, status: "error" };
    };
    const fill = Array.from({ length: 8 }, (_, round) => () => {
      stored.push(...Array.from({ length: 900 }, (_, n) => trace(`r${round}-${n}`, 1_000 * (round + 1) + n)));
    });
    const events = await follow(stored, [
      () => change("old-299"),
      ...fill,
      () => void stored.splice(300, 7_000),
      () => undefined,
    ]);
    expect(events[0]).toMatchObject({ event: "changed", trace: { id: "old-299" } });
    expect(events.slice(1).every(({ event, trace: { id } }) => event === "new" && id.startsWith("r"))).toBe(true);
    expect(events).toHaveLength(1 + 8 * 900);
  });
});
