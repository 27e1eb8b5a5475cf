import { inTransaction } from "@waymark/database";
import pg from "pg";
import { holdHorizon } from "../maintenance/event-retention.query.js";
import { refillVisitors } from "../maintenance/rebuild-rollups.query.js";
import { recordEvents } from "../recording/record-events.js";
import { createPartitions, lockSites } from "../recording/record-events.query.js";
import { countMachines } from "./count-machines.query.js";
import type { Batch } from "./encoded-batch.js";
import type { ImportOptions } from "./reader-services.js";

/** Milliseconds that a transaction may be idle: a process suspended within a batch must not keep its site locked. */
const maxIdleMs = 5_000;
/** SQLSTATE idle_in_transaction_session_timeout: Postgres ended the session. */
const idleInTransaction = "25P03";

export class ImportSuspendedError extends Error {
  override name = "ImportSuspendedError";

  constructor(cause: unknown) {
    const reason = `The import stood still for more than ${maxIdleMs / 1_000} seconds in the middle of a batch`;
    super(
      `${reason}, so the database undid that batch. What was imported before stays; run the same command again to go on.`,
      { cause },
    );
  }
}

/** On a connection of its own: COPY needs each statement sent after the answer before. @throws ImportSuspendedError */
export async function withCopyConnection(pool: pg.Pool, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ ...pool.options, pipeline: false });
  // A connection that breaks between two statements emits an event; the next statement fails all the same.
  let wasSuspended = false;
  client.on("error", (error) => {
    wasSuspended ||= isSuspension(error);
  });
  try {
    await client.connect();
    await pool.options.onConnect?.(client);
    await client.query(`SET idle_in_transaction_session_timeout = ${maxIdleMs}`);
    await work(client);
  } catch (error) {
    if (wasSuspended || isSuspension(error)) throw new ImportSuspendedError(error);
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function isSuspension(error: unknown): boolean {
  return (error as { code?: unknown }).code === idleInTransaction;
}

/** What became of a batch; the other lines are duplicates. */
export interface WrittenBatch {
  readonly recorded: number;
  readonly machines: number;
  /** The numbers of lines before the horizon, which is the first day with all its raw events. */
  readonly early: readonly number[];
  readonly horizon: string | null;
}

export class SiteDeletedError extends Error {
  override name = "SiteDeletedError";

  constructor() {
    super("The site was deleted during the import. Its figures go too.");
  }
}

/** A probe of `site_pkey`. */
const findSiteSql = "SELECT FROM site WHERE id = $1";

/** Waits for the lock of the site's writers; an erasure takes it later, so no row remains. @throws SiteDeletedError */
export async function lockSite(client: pg.ClientBase, siteId: string): Promise<void> {
  await lockSites(client, [siteId]);
  const { rowCount } = await client.query(findSiteSql, [siteId]);
  if (rowCount === 0) throw new SiteDeletedError();
}

export function createBatchWriter(client: pg.ClientBase, { pool, now, site, onBatch }: ImportOptions) {
  const partitions = createPartitions(pool, now);
  return async (batch: Batch): Promise<WrittenBatch> => {
    // Before the transaction, since it may take long.
    await partitions.ensure(new Set(batch.events.map(({ at }) => at.slice(0, 10))));
    return inTransaction(client, async () => {
      const horizon = await holdHorizon(client);
      const { events, early } = sinceHorizon(horizon, batch);
      const { written } = batch;
      await lockSite(client, site.id);
      const days = events.map(({ at }) => at.slice(0, 10));
      await refillVisitors(client, site.id, days);
      const recorded = await recordEvents(client, events, { written });
      const machines = await countMachines(client, site.id, batch.machines);
      await onBatch?.(client);
      return { recorded, machines, early, horizon };
    });
  };
}

/** The horizon may have moved since the batch was read. */
function sinceHorizon(horizon: string | null, { events, lines, early }: Batch): Pick<Batch, "events" | "early"> {
  if (horizon === null || events.every(({ at }) => at >= horizon)) return { events, early };
  const late = [...lines].filter((_line, index) => (events[index]?.at ?? "") < horizon);
  return { events: events.filter(({ at }) => at >= horizon), early: [...early, ...late].sort((a, b) => a - b) };
}
