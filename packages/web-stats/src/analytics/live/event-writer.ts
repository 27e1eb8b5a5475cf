import { performance } from "node:perf_hooks";
import {
  createGroupCommit,
  type GroupCommit,
  inOwnTransaction,
  rowIsLocked,
  tryTransaction,
  withConnection,
  withTransaction,
} from "@waymark/database";
import type pg from "pg";
import { VisitorMemory } from "../recording/known-visitors.js";
import type { Partitions } from "../recording/partitions.query.js";
import { recordEvents, recordFreeEvents, recordLockedEvents } from "../recording/record-events.js";
import { tryLockSites } from "../recording/record-events.query.js";
import type { SiteEvent } from "../recording/site-event.js";

/** The limit that refused events: of all waiting events, of one site's share, or of the wait for one site's lock. */
export type WriterLimit = "total" | "site" | "site-lock";

const sentences: Record<WriterLimit, string> = {
  total: "Too many events wait to be written",
  site: "Too many events of this site wait to be written",
  "site-lock": "Another writer has kept this site locked for too long",
};

/** Events cannot be written now; the client should come back later. */
export class WriterFullError extends Error {
  override name = "WriterFullError";

  constructor(readonly limit: WriterLimit) {
    super(sentences[limit]);
  }
}

/** One site may use a quarter of the capacity. */
const siteShare = 1 / 4;

/** Counts events from their arrival until they are written or refused. */
interface EventCapacity {
  /** Takes capacity for all sites' events or for none. @throws WriterFullError `total` or `site` */
  take(groups: ReadonlyMap<string, readonly SiteEvent[]>): void;
  give(siteId: string, events: number): void;
}

/** Makes the capacity for `max` events, with memory for the sites that have events waiting. */
function createEventCapacity(max: number): EventCapacity {
  const held = new Map<string, number>();
  const maxPerSite = Math.max(1, Math.floor(max * siteShare));
  let total = 0;
  return {
    take(groups) {
      let more = 0;
      for (const events of groups.values()) more += events.length;
      if (total + more > max) throw new WriterFullError("total");
      for (const [siteId, events] of groups) {
        if ((held.get(siteId) ?? 0) + events.length > maxPerSite) throw new WriterFullError("site");
      }
      total += more;
      for (const [siteId, events] of groups) held.set(siteId, (held.get(siteId) ?? 0) + events.length);
    },
    give(siteId, events) {
      const left = (held.get(siteId) ?? 0) - events;
      if (left > 0) held.set(siteId, left);
      else held.delete(siteId);
      total -= events;
    },
  };
}

/** Events that may wait, at some 500 bytes each. */
const defaultMaxWaiting = 10_000;

/** Events per transaction. */
const maxBatch = 1_000;

/** Connections that may wait for sites' locks; fewer where the pool would have none left for other work. */
const maxLockWaits = 3;

/** Longer than any batch of an import holds a site's lock. */
const lockTimeoutMs = 1_000;

/** After this wait for its site's lock an event is refused. */
const defaultMaxLockWaitMs = 5_000;

export interface EventWriterOptions {
  pool: pg.Pool;
  partitions: Partitions;
  maxWaiting?: number;
  maxLockWaitMs?: number;
}

/** Writes events as they arrive. */
export interface EventWriter {
  /**
   * Resolves once the events are committed or refused. A refused site does not hold back the others.
   * @returns whether all sites have their events or only some; writing those again would count them twice
   * @throws WriterFullError when too many events wait or a site stays locked, or the database's error: no site has an event then
   */
  write(events: readonly SiteEvent[]): Promise<"whole" | "partial">;
  /** Resolves when all waiting events are written; later ones are refused. */
  drain(): Promise<void>;
}

/** Events of one site that arrived together. */
interface Part {
  readonly siteId: string;
  readonly events: readonly SiteEvent[];
  /** Time of arrival, by `performance.now()`. */
  readonly since: number;
}

/**
 * Writes events by group commit, in turns between sites. A batch never waits for a site's lock: events of a locked site
 * wait apart, on up to three connections, so that an import or a rebuild of one site does not hold up another.
 */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { maxWaiting = defaultMaxWaiting } = options;
  const capacity = createEventCapacity(maxWaiting);
  const groupCommit = batchParts(options, maxWaiting);
  const writing = new Set<Promise<void>>();
  let isClosed = false;

  function writePart(siteId: string, events: readonly SiteEvent[]): Promise<void> {
    const part = groupCommit.add({ siteId, events, since: performance.now() }).finally(() => {
      capacity.give(siteId, events.length);
      writing.delete(part);
    });
    writing.add(part);
    return part;
  }

  return {
    async write(events) {
      if (isClosed) throw new WriterFullError("total");
      const groups = groupBySite(events);
      capacity.take(groups);
      return sumUp(await Promise.allSettled([...groups].map(([siteId, own]) => writePart(siteId, own))));
    },
    async drain() {
      isClosed = true;
      await Promise.allSettled(writing);
    },
  };
}

function batchParts(
  { pool, partitions, maxLockWaitMs = defaultMaxLockWaitMs }: EventWriterOptions,
  maxWaitingRows: number,
): GroupCommit<Part, void> {
  const memory = new VisitorMemory();
  return createGroupCommit<Part, void>({
    name: "record-events",
    ownerOf: ({ siteId }) => siteId,
    countOf: ({ events }) => events.length,
    targetOf: ({ siteId }) => siteId,
    sharesTargets: true,
    maxRows: maxBatch,
    maxWaitingRows,
    refuse: ({ scope }) => new WriterFullError(scope === "owner" ? "site" : "total"),
    run: (parts) => writeFreeSites({ pool, partitions, memory }, parts),
    runLocked: (parts) => writeLockedSite(pool, partitions, parts),
    maxLockWaits: Math.max(1, Math.min(maxLockWaits, (pool.options.max ?? 1) - 2)),
    giveUp: ({ since }) => (performance.now() - since >= maxLockWaitMs ? new WriterFullError("site-lock") : undefined),
    retry: "in-halves",
  });
}

/** @throws the first part's error where all parts failed */
function sumUp(parts: readonly PromiseSettledResult<void>[]): "whole" | "partial" {
  const refused = parts.find((part) => part.status === "rejected");
  if (!refused) return "whole";
  if (parts.some(({ status }) => status === "fulfilled")) return "partial";
  throw refused.reason;
}

/** Writes the parts of all sites whose locks are free, and waits for no lock. */
async function writeFreeSites(
  { pool, partitions, memory }: { pool: pg.Pool; partitions: Partitions; memory: VisitorMemory },
  parts: readonly Part[],
) {
  const events = parts.flatMap((part) => part.events);
  await partitions.ensure(daysOf(events));
  const whole = await withConnection(pool, (client) =>
    inOwnTransaction(client, () => recordFreeEvents(client, events, memory)),
  );
  if (whole) {
    whole.remember();
    return parts.map(() => undefined);
  }
  const siteIds = [...new Set(parts.map(({ siteId }) => siteId))];
  const { free, recorded } = await withTransaction(pool, async (client) => {
    const free = await tryLockSites(client, siteIds);
    const own = free.size === siteIds.length ? events : events.filter(({ siteId }) => free.has(siteId));
    return { free, recorded: await recordLockedEvents(client, own, { memory }) };
  });
  recorded.remember();
  return parts.map(({ siteId }) => (free.has(siteId) ? undefined : rowIsLocked));
}

/** Writes parts of one site, and waits for its lock for one second. */
async function writeLockedSite(pool: pg.Pool, partitions: Partitions, parts: readonly Part[]) {
  const events = parts.flatMap((part) => part.events);
  await partitions.ensure(daysOf(events));
  const isWritten = await tryTransaction(pool, lockTimeoutMs, (client) => recordEvents(client, events));
  return parts.map(() => (isWritten ? undefined : rowIsLocked));
}

function groupBySite(events: readonly SiteEvent[]): Map<string, SiteEvent[]> {
  const groups = new Map<string, SiteEvent[]>();
  for (const event of events) {
    const group = groups.get(event.siteId);
    if (group) group.push(event);
    else groups.set(event.siteId, [event]);
  }
  return groups;
}

function daysOf(events: readonly SiteEvent[]): Set<string> {
  return new Set(events.map(({ at }) => at.slice(0, 10)));
}
