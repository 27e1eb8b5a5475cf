import { describe, expect, it } from "@jest/globals";
import { type ListedTrace, WaymarkConnectionError } from "@waymark/client";
import { type StreamPart, tailTraces } from "./trace-tail.js";

const id = (n: number) => `019c13f2-6c00-7cc3-98c4-${String(n).padStart(12, "0")}`;
const trace = (n: number, status: ListedTrace["status"] = "running"): ListedTrace => ({
  id: id(n),
  agent_id: "a",
  name: `trace ${n}`,
  status,
  started_at: "2026-06-01T12:00:00.000Z",
  ended_at: null,
  duration_ms: null,
});
const told = (n: number, status?: ListedTrace["status"]): StreamPart => {
  return { id: `after ${n} ${status ?? "running"}`, event: "trace", trace: trace(n, status) };
};

/** A tail of connections that bring their parts and end; an error refuses one. */
async function follow(connections: (readonly StreamPart[] | Error)[], stored: ListedTrace[], lines = 10) {
  const log: string[] = [];
  const stop = new AbortController();
  await tailTraces({
    api: { listTraces: async ({ limit = 50 } = {}) => ({ traces: stored.slice(0, limit), next_cursor: null }) },
    async openStream(lastId) {
      const next = connections.shift();
      log.push(`open ${lastId ?? "now"}`);
      if (next instanceof Error) throw next;
      return (async function* () {
        yield* next ?? [];
      })();
    },
    query: {},
    lines,
    signal: stop.signal,
    onEvent: ({ event, trace: { name, status } }) => void log.push(`${event} ${name} ${status}`),
    onTrouble: () => void log.push("trouble"),
    onRecovery: () => void log.push("recovery"),
    onGap: () => void log.push("gap"),
    async sleep() {
      if (connections.length === 0) stop.abort();
    },
  });
  return log;
}

describe("a tail", () => {
  it("begins with the newest of the list, and tells new traces from changed ones", async () => {
    const stream = [told(5), told(4), told(4, "success"), told(3, "error"), told(1, "error"), told(5, "error")];
    // The trace 4 came while the list was read.
    const log = await follow([stream], [trace(4), trace(3), trace(2)], 2);
    expect(log).toEqual([
      "open now",
      ...["new trace 3 running", "new trace 4 running"],
      ...["new trace 5 running", "changed trace 4 success", "changed trace 3 error", "changed trace 1 error"],
      "changed trace 5 error",
    ]);
  });

  it("opens the stream again after each end, after its last id, and tells of trouble once", async () => {
    const refused = new WaymarkConnectionError("refused");
    const comment: StreamPart = { id: "quiet", event: "comment", trace: undefined };
    const reset: StreamPart = { id: "fresh", event: "reset", trace: undefined };
    const log = await follow([[told(1)], refused, refused, [told(2), comment], [reset], [told(3)]], [], 0);
    expect(log).toEqual([
      ...["open now", "new trace 1 running", "open after 1 running", "trouble", "open after 1 running"],
      ...["open after 1 running", "recovery", "new trace 2 running", "open quiet", "gap", "open fresh"],
      "new trace 3 running",
    ]);
  });

  it("ends with the error of its first connection, and with a refusal for good", async () => {
    await expect(follow([new WaymarkConnectionError("refused")], [])).rejects.toThrow("refused");
    await expect(follow([[told(1)], new Error("a mistake")], [])).rejects.toThrow("a mistake");
  });
});
