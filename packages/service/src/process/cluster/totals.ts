import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from "prom-client";

/** A process's metrics at one moment. */
export type Snapshot = MetricObjectWithValues<MetricValue<string>>[];

/** Adds up the metrics of processes. Sums of counters never fall: what an ended process counted still counts. */
export function createTotals() {
  const latest = new Map<number, Snapshot>();
  let ended: Snapshot = [];
  return {
    /** Keeps a process's metrics; without an answer the former ones stay. */
    put(process: number, snapshot: Snapshot | undefined): void {
      if (snapshot) latest.set(process, snapshot);
    },
    async end(process: number): Promise<void> {
      const counts = latest.get(process)?.filter(({ type }) => isCount(String(type)));
      latest.delete(process);
      if (!counts) return;
      const sum = AggregatorRegistry.aggregate([ended, counts]);
      ended = counts.length > 0 ? await sum.getMetricsAsJSON() : ended;
    },
    text: (own: Snapshot): Promise<string> => AggregatorRegistry.aggregate([...latest.values(), ended, own]).metrics(),
  };
}

/** Of a counter and a histogram; gauges end with their process. prom-client's types say numbers, its snapshots names. */
function isCount(type: string): boolean {
  return type === "counter" || type === "histogram";
}
