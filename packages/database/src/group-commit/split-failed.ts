import { isDatabaseUnavailable, isMoving } from "../unavailable.js";
import type { Owner, WaitingRow } from "./fair-queue.js";

/** Whether no row of a failed batch can be stored now. */
const isUseless = (error: unknown) => isDatabaseUnavailable(error) && !isMoving(error);

/**
 * Splits a failed batch by owner, then row by row, so a bad row fails alone. Rows of one owner whose lock timed out
 * stay together, because each of them would wait for that lock again.
 * @returns the batch itself if another attempt is useless, such as while the database is down
 */
export function splitByOwner<Row, Result>(
  batch: readonly WaitingRow<Row, Result>[],
  error: unknown,
): readonly (readonly WaitingRow<Row, Result>[])[] {
  const isLocked = (error as { code?: unknown } | null)?.code === "55P03";
  if (isUseless(error) && !isLocked) return [batch];
  const byOwner = new Map<Owner<Row, Result>, WaitingRow<Row, Result>[]>();
  for (const entry of batch) {
    const part = byOwner.get(entry.owner);
    if (part) part.push(entry);
    else byOwner.set(entry.owner, [entry]);
  }
  if (byOwner.size > 1) return [...byOwner.values()];
  return isLocked || isMoving(error) ? [batch] : batch.map((entry) => [entry]);
}

/** Splits a failed batch into two halves; a single row, or any batch while the database is down, stays whole. */
export function splitInHalves<Row, Result>(
  batch: readonly WaitingRow<Row, Result>[],
  error: unknown,
): readonly (readonly WaitingRow<Row, Result>[])[] {
  if (batch.length === 1 || isUseless(error)) return [batch];
  const middle = Math.ceil(batch.length / 2);
  return [batch.slice(0, middle), batch.slice(middle)];
}
