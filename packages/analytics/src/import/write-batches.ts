import { inTransaction } from "@waymark/database";
import type pg from "pg";
import { holdHorizon, readHorizon } from "../maintenance/event-horizon.query.js";
import { createPartitions } from "../recording/partitions.query.js";
import { recordEvents } from "../recording/record-events.js";
import { createSaltStore } from "../visitors/salts.query.js";
import type { ImportOptions } from "./import-options.js";
import { createLineToEvent, dayOf, saltedDays } from "./line-to-event.js";
import { createOccurrenceCounter } from "./occurrences.query.js";
import type { BatchLine } from "./read-batches.js";

/** What became of a batch; the other lines are duplicates. */
export interface WrittenBatch {
  readonly recorded: number;
  /** Lines before the horizon, which is the first day with all its raw events. */
  readonly early: readonly BatchLine[];
  readonly horizon: string | null;
}

/**
 * Makes the function that records a batch in one transaction. It leaves the session a temporary table, `import_line`.
 * @param client the import's own connection
 */
export async function createBatchWriter(client: pg.ClientBase, options: ImportOptions) {
  const { pool, now } = options;
  const salts = createSaltStore({ pool, ...(now && { now }) });
  const partitions = createPartitions(pool, now);
  const toEvent = createLineToEvent(options);
  const occurrences = await createOccurrenceCounter(client);
  return async (batch: readonly BatchLine[]): Promise<WrittenBatch> => {
    // Before the transaction, since they may take long. Lines before the horizon need neither.
    const [wanted] = splitAt(await readHorizon(client), batch);
    const lines = wanted.map(({ line }) => line);
    await partitions.ensure(new Set(lines.map(dayOf)));
    const daySalts = await salts.saltsOf(saltedDays(lines));
    return inTransaction(client, async () => {
      const horizon = await holdHorizon(client);
      const [kept, early] = splitAt(horizon, batch);
      const count = await occurrences.count(kept.map(({ id }) => id.first));
      const events = kept.map(({ line, id }) => toEvent(line, id.nth(count(id.first)), daySalts));
      return { recorded: await recordEvents(client, events), early, horizon };
    });
  };
}

/** The lines from the horizon on, and those before it. */
function splitAt(horizon: string | null, batch: readonly BatchLine[]) {
  if (horizon === null) return [batch, []] as const;
  const isEarly = ({ line }: BatchLine) => dayOf(line) < horizon;
  return [batch.filter((each) => !isEarly(each)), batch.filter(isEarly)] as const;
}
