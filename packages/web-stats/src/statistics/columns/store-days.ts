import { Buffer } from "node:buffer";
import { withTransaction } from "@waymark/database";
import type pg from "pg";
import type { Days } from "../range.js";
import { readEventDays } from "../statistics.query.js";
import type { SiteDay } from "./collect-part.js";
import {
  findOutdatedDays,
  readDay,
  readStoredParts,
  readStoredSizes,
  removeParts,
  type StoredKey,
  storePart,
  tryLockDay,
} from "./day-columns.js";
import { blockNames, writePart } from "./part-blocks.js";

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

const needs = { times: true, details: true };

/** A stored day of the present events that is not as it would be made from them. */
interface WrongDay {
  readonly day: string;
  /** Parts that are missing, too many or different. */
  readonly parts: number;
}

/** Compares a site's stored days with days made anew, those that have lost events excepted. @param remove drops the wrong ones */
export async function findWrongDays(
  pool: pg.Pool,
  { siteId, days, remove, signal }: { siteId: string; days: Days; remove: boolean; signal?: AbortSignal },
): Promise<WrongDay[]> {
  const stored = new Map<string, StoredKey[]>();
  for (const { day, version, part } of await readStoredSizes(pool, { siteId, ...days }, needs)) {
    if (part !== null) stored.set(day, [...(stored.get(day) ?? []), { day, version, part }]);
  }
  const [first, last] = [[...stored.keys()][0], [...stored.keys()].at(-1)];
  if (first === undefined || last === undefined) return [];
  const { from, to } = (await readEventDays(pool, { siteId, first, last })) ?? { from: first, to: last };
  const wrong: WrongDay[] = [];
  for (const [day, keys] of stored) {
    signal?.throwIfAborted();
    if (from === null || to === null || day < from || day > to) continue;
    const parts = await countWrong(pool, siteId, keys);
    if (parts === 0) continue;
    wrong.push({ day, parts });
    if (remove) await withTransaction(pool, (client) => removeParts(client, { siteId, day }));
  }
  return wrong;
}

/** 0 where the day has changed since the keys were read. */
function countWrong(pool: pg.Pool, siteId: string, keys: readonly StoredKey[]): Promise<number> {
  const { day = "", version } = keys[0] ?? {};
  return readDay(pool, { siteId, day }, needs, async (made, client, present) => {
    if (present !== version) return 0;
    let [same, count] = [0, 0];
    for await (const part of made) {
      const wanted = [{ day, version: present, part: count++ }];
      const [stored] = await readStoredParts(client, { siteId, wanted, needs });
      const blocks = await writePart(part);
      if (blockNames.every((name) => blocks[name].equals(stored?.[name] ?? Buffer.alloc(0)))) same++;
    }
    return Math.max(count, keys.length) - same;
  });
}
