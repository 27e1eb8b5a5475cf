import type pg from "pg";
import { readDay } from "./day-columns.js";
import type { SiteDay } from "./day-rows.query.js";
import { writePart } from "./part-blocks.js";
import { findOutdatedDays, removeParts, storePart, tryLockDay } from "./stored-parts.query.js";

/** SQLSTATE of a row that another transaction changed (Postgres documentation, appendix A). */
const serializationFailure = "40001";

/**
 * Stores the finished days whose parts are missing or of former events, so that filters read them as columns. Days that stay out
 * are made from events by their readers. Another process may do the same: a day is stored once.
 * @param before the first day that is not finished
 * @returns the number of stored days
 */
export async function storeDays(
  pool: pg.Pool,
  {
    siteIds,
    before,
    onDay,
    isStopping = () => false,
  }: {
    siteIds: readonly string[];
    before: string;
    onDay?: (day: SiteDay) => void;
    isStopping?: () => boolean;
  },
): Promise<number> {
  let stored = 0;
  for (const siteId of siteIds) {
    for (const day of await findOutdatedDays(pool, { siteId, before })) {
      if (isStopping()) return stored;
      if (await storeDay(pool, { siteId, day })) stored++;
      onDay?.({ siteId, day });
    }
  }
  return stored;
}

async function storeDay(pool: pg.Pool, siteDay: SiteDay): Promise<boolean> {
  try {
    const parts = await readDay(pool, siteDay, { details: true }, async (day, client, version) => {
      if (!(await tryLockDay(client, siteDay))) return 0;
      await removeParts(client, siteDay);
      let part = 0;
      for await (const made of day)
        await storePart(client, { ...siteDay, part: part++, version, blocks: await writePart(made) });
      return part;
    });
    return parts > 0;
  } catch (error) {
    if ((error as { code?: unknown }).code === serializationFailure) return false;
    throw error;
  }
}
