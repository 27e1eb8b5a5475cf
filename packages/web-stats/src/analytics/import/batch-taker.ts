import { Buffer } from "node:buffer";
import { openCountryDirectory } from "../attribution/country-directory.js";
import { createAttribution } from "./attribute-line.js";
import { BatchEncoder } from "./batch-encoder.js";
import type { ImportLine } from "./import-line.schema.js";
import type { Line } from "./lines.js";
import { OccurrenceCounter } from "./occurrences.js";
import type { CallServices, ReaderCounts, ReaderOptions } from "./reader-services.js";

/**
 * Lines of one transaction: enough to spread the cost of a day's rollups, few enough to keep memory small and the site's lock
 * short. A batch has as many lines as came before it, so that the first ones are soon there.
 */
const batchLines = { first: 2_000, most: 8_000 } as const;
/** Characters of a batch, so that long lines do not add up. */
const maxBatchLength = 10_000_000;
/** Milliseconds after which it asks for salts again, since they die. */
const saltMs = 10_000;

/** Takes good lines into batches, and stays one batch ahead of the writer. */
export interface BatchTaker {
  /** @returns a promise where something has to be waited for */
  add(each: Line, line: ImportLine): Promise<void> | undefined;
  end(): Promise<void>;
  /** Waits for the last batch, whatever becomes of it. */
  settle(): Promise<void>;
}

export async function createBatchTaker(
  { site, countries }: ReaderOptions,
  counts: ReaderCounts,
  call: CallServices,
): Promise<BatchTaker> {
  const directory = countries && (await openCountryDirectory(countries.file));
  const shared = {
    siteId: site.id,
    occurrences: new OccurrenceCounter({
      read: (firstIds) => call("readEarlier", firstIds),
      add: (ids, seen) => call("addEarlier", { ids, seen }),
    }),
    attribute: createAttribution({ domain: site.domain, countryOf: (ip) => directory?.countryOf(ip) ?? null }),
  };
  const salts = new Map<string, Buffer>();
  let saltsUntil = 0;
  let horizon = await call("horizon", null);
  let batch: BatchEncoder | undefined;
  let [length, total, maxLines] = [0, 0, 0];
  let taken = Promise.resolve();

  const open = () => {
    if (Date.now() >= saltsUntil) salts.clear();
    if (salts.size === 0) saltsUntil = Date.now() + saltMs;
    maxLines = Math.min(Math.max(batchLines.first, total), batchLines.most);
    return new BatchEncoder({ ...shared, maxLines, horizon, salts });
  };
  const close = async (ended: BatchEncoder) => {
    total += ended.length;
    [batch, length] = [undefined, 0];
    const encoded = await ended.finish();
    await taken;
    taken = call("take", { counts, ...encoded }).then((known) => {
      horizon = known;
    });
    // The next batch awaits it; until then its failure must not count as unhandled.
    taken.catch(() => undefined);
  };
  const addLine = (to: BatchEncoder, each: Line, line: ImportLine) => {
    to.add(each.number, line);
    length += "text" in each ? each.text.length : 0;
    return to.length < maxLines && length < maxBatchLength ? undefined : close(to);
  };
  return {
    add(each, line) {
      const to = batch ?? open();
      batch = to;
      const day = to.missingSalt(line);
      if (day === undefined) return addLine(to, each, line);
      return call("salts", [day]).then((found) => {
        for (const [name, { buffer, byteOffset, byteLength }] of found) {
          salts.set(name, Buffer.from(buffer, byteOffset, byteLength));
        }
        return addLine(to, each, line);
      });
    },
    async end() {
      if (batch) await close(batch);
      await taken;
      await call("end", counts);
    },
    settle: () => taken.catch(() => undefined),
  };
}
