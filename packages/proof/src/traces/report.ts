import { formatTable, percentile } from "@waymark/local/figures";
import { type Measurement, median } from "./measure.js";

const columns: readonly (readonly [title: string, show: (m: Measurement) => string])[] = [
  ["operation", (m) => m.operation],
  ["server", (m) => m.server],
  ["conns", (m) => String(m.connections)],
  ["accounts", (m) => String(m.accounts)],
  ["per s", (m) => m.perSecond.toFixed(0)],
  ["p50 ms", (m) => m.p50Ms.toFixed(1)],
  ["p99 ms", (m) => m.p99Ms.toFixed(1)],
  ["node us", (m) => m.nodeMicros.toFixed(1)],
  ["pg us", (m) => m.postgresMicros.toFixed(1)],
  ["RSS MB", (m) => (m.memoryBytes / 1e6).toFixed(0)],
  ["errors", (m) => String(m.errors)],
  ["2xx", (m) => String(m.acknowledged)],
  ["rows", (m) => String(m.rows ?? "-")],
  ["counted", (m) => String(m.counted ?? "-")],
];

/** Runs of one load on one server, in the order of rounds. */
type Runs = readonly Measurement[];

/** The median runs; rates and CPU are those of a request, of a bulk operation's those of a span. */
export function formatMeasurements(measured: readonly Runs[]): string {
  const rows = measured.map((runs) => columns.map(([, show]) => show(median(runs))));
  return formatTable([columns.map(([title]) => title), ...rows], 2);
}

/**
 * Ours by each other server under the same load: the median of the ratios within a round, since both run in
 * the same state of the machine there, with the lowest and the highest rate.
 */
export function formatRatios(measured: readonly Runs[]): string {
  const loadOf = ([run]: Runs) => [run?.operation, run?.connections, run?.accounts].join();
  const isOurs = ([run]: Runs) => run?.server === "ours";
  const pairs = measured
    .filter(isOurs)
    .flatMap((ours) =>
      measured.filter((other) => !isOurs(other) && loadOf(other) === loadOf(ours)).map((other) => ({ ours, other })),
    );
  const rows = pairs.map(({ ours, other }) => {
    const ratio = (of: (each: Measurement) => number, share = 0.5) =>
      percentile(
        ours.map((each, round) => of(each) / of(other[round] ?? each)),
        share,
      ).toFixed(2);
    const rates = [0.5, 0, 1].map((share) => ratio(({ perSecond }) => perSecond, share));
    const others = [ratio(({ p99Ms }) => p99Ms), ratio(({ nodeMicros }) => nodeMicros), ratio((m) => m.postgresMicros)];
    return [ours[0]?.operation ?? "", other[0]?.server ?? "", String(ours[0]?.connections), ...rates, ...others];
  });
  return formatTable([["ours by", "", "conns", "rate", "lowest", "highest", "p99", "node us", "pg us"], ...rows], 2);
}
