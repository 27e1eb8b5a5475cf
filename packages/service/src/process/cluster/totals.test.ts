import { expect, it } from "@jest/globals";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { createTotals, type Snapshot } from "./primary.js";

async function snapshotOf(count: number): Promise<Snapshot> {
  const registry = new Registry();
  registry.setDefaultLabels({ service: "test" });
  new Counter({ name: "done_total", help: "Done", labelNames: ["kind"], registers: [registry] }).inc(
    { kind: "a" },
    count,
  );
  new Gauge({ name: "open", help: "Open", registers: [registry] }).set(count);
  new Histogram({ name: "took", help: "Took", buckets: [1, 10], registers: [registry] }).observe(count);
  return registry.getMetricsAsJSON();
}

const lines = (text: string) => text.split("\n").filter((line) => /^(done_total|open|took_(count|sum))/.test(line));

it("adds up all processes; counts of ended ones stay, and their gauges go", async () => {
  const totals = createTotals();
  totals.put(1, await snapshotOf(2));
  totals.put(2, await snapshotOf(5));
  totals.put(2, undefined);
  const all = (done: number, open: number, observed: number) => [
    `done_total{kind="a",service="test"} ${done}`,
    `open{service="test"} ${open}`,
    `took_sum{service="test"} ${done}`,
    `took_count{service="test"} ${observed}`,
  ];
  expect(lines(await totals.text([]))).toEqual(all(7, 7, 2));
  await totals.end(1);
  expect(lines(await totals.text([])).sort()).toEqual(all(7, 5, 2).sort());
  totals.put(1, await snapshotOf(1));
  await totals.end(2);
  await totals.end(1);
  expect(lines(await totals.text([])).sort()).toEqual(
    all(8, 1, 3)
      .filter((line) => !line.startsWith("open"))
      .sort(),
  );
});
