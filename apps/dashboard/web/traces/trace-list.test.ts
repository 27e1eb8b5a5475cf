import { describe, expect, it } from "@jest/globals";
import type { TraceChangesAnswer, TraceList, TraceRow } from "../../src/traces/traces.route.js";
import { createTraceList, type TraceListDeps, type TraceListState } from "./trace-list.js";

const row = (id: string, part: Partial<TraceRow> = {}): TraceRow => ({
  id,
  agent_id: "writer",
  name: `trace ${id}`,
  status: "success",
  started_at: `2026-06-01T12:00:${id.padStart(2, "0")}.000Z`,
  ended_at: null,
  duration_ms: 1,
  error: null,
  isMailed: false,
  ...part,
});

const noChanges: TraceChangesAnswer = { at: "t1", created: [], hasMore: false, changed: [], gone: [] };

/** A list whose answers come from a queue. */
function start(parts: Partial<TraceListDeps> = {}) {
  const asked: string[] = [];
  const said: string[] = [];
  const answers: unknown[] = [];
  const test = { state: undefined as TraceListState | undefined, mayMove: true };
  const list = createTraceList({
    async get<T>(path: string) {
      asked.push(path);
      const answer = answers.shift();
      if (answer === undefined) throw new Error("No answer");
      return answer as T;
    },
    include: "",
    pathOf: (cursor) => `/traces?cursor=${cursor ?? ""}`,
    takesAll: true,
    isSearch: false,
    isFromStart: true,
    idsOnScreen: () => (test.state?.rows ?? []).map(({ id }) => id),
    mayMove: () => test.mayMove,
    announce: (text) => void said.push(text),
    update: (state) => {
      test.state = state;
    },
    ...parts,
  });
  const poll = (...next: (TraceList | TraceChangesAnswer)[]) => {
    answers.push(...next);
    return list.poll();
  };
  const shown = () => test.state?.rows.map(({ id }) => id);
  return { list, test, asked, said, answers, poll, shown };
}

const page = (ids: readonly string[], nextCursor: string | null = null): TraceList => ({
  traces: ids.map((id) => row(id)),
  nextCursor,
});

describe("the list of traces", () => {
  it("loads, then asks for changes after its newest id, since the last answer for rows it asked for", async () => {
    const { poll, asked, shown } = start();
    expect(await poll(page(["3", "2"]))).toBe(true);
    expect(await poll(noChanges)).toBe(false);
    expect(await poll({ ...noChanges, created: [row("4")] })).toBe(true);
    expect(await poll(noChanges)).toBe(false);
    expect(shown()).toEqual(["4", "3", "2"]);
    expect(asked).toEqual([
      "/traces?cursor=",
      "/traces/changes?after=3&ids=3%2C2",
      "/traces/changes?after=3&ids=3%2C2&since=t1",
      "/traces/changes?after=4&ids=4%2C3%2C2",
    ]);
  });

  it("keeps new traces behind the button, says each once, and shows them in their places", async () => {
    const { list, poll, test, said, shown } = start();
    await poll(page(["3"]));
    test.mayMove = false;
    const created = [row("5", { status: "error" }), row("4")];
    await poll({ ...noChanges, created });
    await poll({ ...noChanges, created });
    test.mayMove = true;
    await poll({ ...noChanges, created: [row("6")] });
    expect([shown(), test.state?.waiting.length]).toEqual([["3"], 3]);
    expect(said).toEqual(["2 new traces, 1 failed", "1 new trace"]);
    await list.showWaiting();
    expect([shown(), test.state?.waiting.length]).toEqual([["6", "5", "4", "3"], 0]);
  });

  it("leaves a trace that began before its last row to a later page", async () => {
    const { poll, said, shown, test } = start();
    await poll(page(["5", "4"], "next"));
    await poll({ ...noChanges, created: [row("7", { started_at: "2026-06-01T11:00:00.000Z" })] });
    expect([shown(), test.state?.waiting, said]).toEqual([["5", "4"], [], []]);
  });

  it("loads anew behind the button when more were created than it knows", async () => {
    const { list, poll, answers, test, shown } = start();
    await poll(page(["3"]));
    await poll({ ...noChanges, created: [row("9")], hasMore: true });
    expect(test.state).toMatchObject({ hasMoreWaiting: true });
    answers.push(page(["9", "8"], "c"));
    await list.showWaiting();
    expect([shown(), test.state?.hasMoreWaiting, test.state?.cursor]).toEqual([["9", "8"], false, "c"]);
  });

  it("says a failure once, and drops a deleted trace", async () => {
    const { poll, said, shown } = start();
    await poll({ traces: [row("3", { status: "running" }), row("2")], nextCursor: null });
    const failed = { ...noChanges, changed: [row("3", { status: "error" })], gone: ["2"] };
    expect([await poll(failed), await poll({ ...failed, gone: [] })]).toEqual([true, false]);
    expect([shown(), said]).toEqual([["3"], ["Failed: trace 3"]]);
  });

  it("goes on with a search over pages without rows, and seldom begins it anew", async () => {
    const { poll, list, answers, asked, shown, test } = start({ isSearch: true, takesAll: false });
    await poll(page([], "a"));
    await poll();
    answers.push(page([], "b"), page(["1"]));
    await list.more();
    await list.more();
    expect([shown(), test.state?.cursor]).toEqual([["1"], null]);
    for (let n = 0; n < 27; n++) await poll(noChanges);
    expect(asked.filter((path) => path.includes("cursor="))).toEqual(
      ["", "a", "b"].map((each) => `/traces?cursor=${each}`),
    );
    for (let n = 0; n < 3; n++) await poll(page(["2", "1"]), noChanges);
    expect(shown()).toEqual(["2", "1"]);
  });

  it("reads the first page while it has no rows, and at times when filters decide about new traces", async () => {
    const empty = start();
    await empty.poll(page([]));
    expect(await empty.poll(page(["1"]), noChanges)).toBe(true);
    expect(empty.shown()).toEqual(["1"]);
    const filtered = start({ takesAll: false });
    await filtered.poll(page(["1"]));
    await filtered.poll(page(["2", "1"]), noChanges);
    await filtered.poll(noChanges);
    expect(filtered.shown()).toEqual(["2", "1"]);
    expect(filtered.asked.slice(1)).toEqual([
      "/traces?cursor=",
      "/traces/changes?ids=2%2C1",
      "/traces/changes?ids=2%2C1&since=t1",
    ]);
  });

  it("holds 1,000 rows at most, and reports a failed request until the next answer", async () => {
    const { list, poll, answers, test } = start();
    await poll(page(["999"], "c0"));
    for (let n = 0; n < 20; n++) {
      answers.push(
        page(
          Array.from({ length: 50 }, (_, index) => String(n * 50 + index)),
          `c${n + 1}`,
        ),
      );
      await list.more();
    }
    const count = test.state?.rows.length ?? 0;
    expect(count).toBe(1_000);
    await list.more();
    expect(test.state?.rows.length).toBe(count);
    expect(await list.poll()).toBe(false);
    expect(test.state?.isLive).toBe(false);
    await poll(noChanges);
    expect(test.state?.isLive).toBe(true);
  });
});
