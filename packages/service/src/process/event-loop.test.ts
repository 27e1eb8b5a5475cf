import { describe, expect, it } from "@jest/globals";
import { createLogger } from "./logger.js";
import { createRegistry } from "./metrics.js";
import { watchEventLoop } from "./run-process.js";

/** Watches by a clock of its own, which stands still between `pass`. */
function watch() {
  const lines: { level: string; heldMs: number; inHand: string[] }[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  let [at, reads] = [1_000, 0];
  const asked: number[] = [];
  const inHand = (since: number) => {
    asked.push(since);
    return ["POST /traces"];
  };
  watchEventLoop(createLogger({ service: "s", level: "info", destination }), inHand, () => {
    reads++;
    return at;
  });
  const pass = async (ms: number) => {
    at += ms;
    for (const before = reads; reads === before; ) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return { lines, asked, pass };
}

describe("watchEventLoop", () => {
  it("warns above 250 ms, with the work since its last look", async () => {
    const { lines, asked, pass } = watch();
    await pass(300);
    expect(lines).toEqual([]);
    await pass(301);
    expect(lines).toMatchObject([{ level: "warn", heldMs: 251, inHand: ["POST /traces"] }]);
    expect(asked).toEqual([1_300]);
  });
});

describe("a registry", () => {
  it("has the delays of the event loop", async () => {
    const registry = createRegistry("s");
    // On a busy machine the first look comes after the first delay.
    for (let max = 0; max < 0.2; ) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      const heldUntil = performance.now() + 300;
      while (performance.now() < heldUntil);
      await new Promise((resolve) => setTimeout(resolve, 50));
      const text = await registry.metrics();
      max = Number(/^nodejs_eventloop_lag_max_seconds\S* (\S+)$/m.exec(text)?.[1]);
      expect(max).toBeGreaterThan(0);
    }
  });
});
