import { Buffer } from "node:buffer";
import { otherValue, type StatisticsList } from "../lists/lists.js";
import type { Sums } from "./statistics.query.js";

interface Bounds {
  list: StatisticsList;
  /** Rows at most, whole lists excepted. */
  limit: number;
  /** Bytes of JSON at most, whole lists excepted. */
  maxBytes: number;
  /** Bytes of a row beside its value. */
  rowBytes: number;
}

/** A list's rows as `readFigures` orders and bounds them: most visitors first, and last `(other)`, unranked. */
export function topOf(sums: ReadonlyMap<string, Sums>, { list, limit, maxBytes, rowBytes }: Bounds): [string, Sums][] {
  const rest = sums.get(otherValue);
  const ordered = [...sums].filter(([value]) => value !== otherValue).sort(orderOf(list));
  let bytes = 0;
  const end = ordered.findIndex(([value], index) => {
    bytes += Buffer.byteLength(JSON.stringify(value)) + rowBytes;
    return !list.isWhole && (index >= limit || bytes > maxBytes);
  });
  const shown = end < 0 ? ordered : ordered.slice(0, end);
  return rest ? [...shown, [otherValue, rest]] : shown;
}

/** The order of a list's values. */
export function orderOf(list: StatisticsList) {
  const pageviews = ({ pageviews }: Sums) => (list.showsPageviews ? pageviews : 0);
  return ([a, one]: [string, Sums], [b, other]: [string, Sums]) =>
    other.visitors - one.visitors || pageviews(other) - pageviews(one) || compareCodePoints(a, b);
}

/** The order of Postgres's collation "C": by code points, where JavaScript's is by units of UTF-16. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return rankOf(one) - rankOf(other);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10_000 : unit;
}
