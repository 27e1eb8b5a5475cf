import { performance } from "node:perf_hooks";
import { isDatabaseUnavailable, withTransaction } from "@waymark/database";
import type pg from "pg";
import type { Partitions } from "../recording/partitions.query.js";
import { recordEvents, recordLockedEvents } from "../recording/record-events.js";
import { tryLockSites } from "../recording/record-events.query.js";
import type { SiteEvent } from "../recording/site-event.js";
import { tryTransaction } from "../recording/try-transaction.js";
import { groupBySite, type Part, WaitingEvents, WriterFullError } from "./waiting-events.js";

/** Events that wait at most; more are refused rather than held in memory. */
const defaultMaxWaiting = 10_000;

/** Events of one transaction at most. */
const maxBatch = 1_000;

/** Sites at most whose locks are waited for at once, on a connection each; fewer where the pool would not have one left. */
const maxLanes = 3;

/** How long one turn waits for a site's lock: longer than any batch of an import takes. */
const laneTurnMs = 1_000;

/** How long an event waits for its site's lock before it is refused. */
const defaultMaxLockWaitMs = 5_000;

export interface EventWriterOptions {
  pool: pg.Pool;
  partitions: Partitions;
  maxWaiting?: number;
  maxLockWaitMs?: number;
}

/** Writes events that come one by one. */
export interface EventWriter {
  /**
   * Resolves once the events are committed, or refused. A site that is refused does not hold back the others.
   * @returns whether all sites have their events, or only some; whoever writes again would count those twice
   * @throws WriterFullError when too many wait or a site stays locked, or what the database threw: no site has an event then
   */
  write(events: readonly SiteEvent[]): Promise<"whole" | "partial">;
  /** Resolves when all that waits is written; what comes later is refused. */
  drain(): Promise<void>;
}

/** Writes events in a transaction, and returns the sites whose locks it did not get: nothing of theirs is written. */
type Commit = (events: readonly SiteEvent[]) => Promise<ReadonlySet<string>>;

/**
 * Commits in groups: events that arrive during a transaction go out together in the next one. No timer: a lone event is written at
 * once. A group never waits for a site's lock. Events of a site that somebody else has locked go out apart, in a few lanes
 * that may wait, so that an import or a rebuild of one site does not hold up another.
 */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { pool, partitions, maxWaiting = defaultMaxWaiting, maxLockWaitMs = defaultMaxLockWaitMs } = options;
  const waiting = new WaitingEvents(maxWaiting);
  const lanes = new Set<Promise<void>>();
  const laneCount = Math.max(1, Math.min(maxLanes, (pool.options.max ?? 1) - 2));
  let running: Promise<void> | undefined;
  let isClosed = false;

  function settle(part: Part, error?: unknown): void {
    waiting.done(part);
    if (error === undefined) part.resolve();
    else part.reject(error);
  }

  /** One event that the database does not take must not cost its neighbours: a batch that fails is halved. */
  async function writeBatch(batch: readonly Part[], commitBatch: Commit): Promise<void> {
    try {
      const locked = await commitBatch(batch.flatMap(({ events }) => events));
      for (const part of batch) if (!locked.has(part.siteId)) settle(part);
      if (locked.size > 0) waiting.giveBack(batch.filter(({ siteId }) => locked.has(siteId)));
    } catch (error) {
      if (batch.length === 1 || isDatabaseUnavailable(error)) {
        for (const part of batch) settle(part, error);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await writeBatch(batch.slice(0, middle), commitBatch);
      await writeBatch(batch.slice(middle), commitBatch);
    }
  }

  async function run(): Promise<void> {
    // Never before `running` is set, also where there is nothing to do.
    await Promise.resolve();
    for (let batch = waiting.takeFree(maxBatch); batch.length > 0; batch = waiting.takeFree(maxBatch)) {
      await writeBatch(batch, (events) => commitFree(pool, partitions, events));
      openLanes();
    }
    running = undefined;
  }

  async function runLane(first: { siteId: string; parts: Part[] }): Promise<void> {
    for (let turn: typeof first | undefined = first; turn; turn = waiting.takeLocked(maxBatch)) {
      let isLocked = false;
      await writeBatch(turn.parts, async (events) => {
        const locked = await commitWaiting(pool, partitions, events);
        isLocked ||= locked.size > 0;
        return locked;
      });
      waiting.endTurn(turn.siteId, isLocked ? "locked" : "free");
      for (const part of waiting.takeExpired(performance.now() - maxLockWaitMs)) {
        settle(part, new WriterFullError("site-lock"));
      }
      wake();
    }
  }

  function openLanes(): void {
    while (lanes.size < laneCount) {
      const turn = waiting.takeLocked(maxBatch);
      if (!turn) return;
      const lane = runLane(turn).finally(() => lanes.delete(lane));
      lanes.add(lane);
    }
  }

  function wake(): void {
    running ??= run();
  }

  function enqueue(siteId: string, events: readonly SiteEvent[]): Promise<void> {
    return new Promise((resolve, reject) => {
      waiting.add({ siteId, events, since: performance.now(), resolve, reject });
    });
  }

  return {
    async write(events) {
      if (isClosed) throw new WriterFullError("total");
      const groups = groupBySite(events);
      waiting.requireRoom(groups);
      const parts = [...groups].map(([siteId, own]) => enqueue(siteId, own));
      wake();
      return sumUp(await Promise.allSettled(parts));
    },
    async drain() {
      isClosed = true;
      while (running || lanes.size > 0) await Promise.all([running, ...lanes]);
    },
  };
}

/** @throws what the first part was refused with, where all were */
function sumUp(parts: readonly PromiseSettledResult<void>[]): "whole" | "partial" {
  const refused = parts.find((part) => part.status === "rejected");
  if (!refused) return "whole";
  if (parts.some(({ status }) => status === "fulfilled")) return "partial";
  throw refused.reason;
}

/** Waits for no lock. */
async function commitFree(pool: pg.Pool, partitions: Partitions, events: readonly SiteEvent[]) {
  await partitions.ensure(daysOf(events));
  return withTransaction(pool, async (client) => {
    const siteIds = sitesOf(events);
    const free = await tryLockSites(client, siteIds);
    await recordLockedEvents(
      client,
      free.size === siteIds.length ? events : events.filter((it) => free.has(it.siteId)),
    );
    return new Set(siteIds.filter((siteId) => !free.has(siteId)));
  });
}

/** Waits for the lock of the events' one site, for a turn. */
async function commitWaiting(pool: pg.Pool, partitions: Partitions, events: readonly SiteEvent[]) {
  await partitions.ensure(daysOf(events));
  const isWritten = await tryTransaction(pool, laneTurnMs, (client) => recordEvents(client, events));
  return new Set(isWritten ? [] : sitesOf(events));
}

function sitesOf(events: readonly SiteEvent[]): string[] {
  return [...new Set(events.map(({ siteId }) => siteId))];
}

function daysOf(events: readonly SiteEvent[]): Set<string> {
  return new Set(events.map(({ at }) => at.slice(0, 10)));
}
