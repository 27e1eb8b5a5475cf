import { performance } from "node:perf_hooks";
import {
  createUuidV7,
  type GroupCommit,
  inOwnTransaction,
  rowIsLocked,
  tryTransaction,
  withConnection,
  withTransaction,
} from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import { loadReferrers } from "../attribution/referrer-directory.js";
import { createReferrerReader, createSourceClassifier, cutToBytes } from "../attribution/source-classifier.js";
import { createBotCheck, createUserAgentReader } from "../attribution/user-agent.js";
import { recordEvents, recordFreeEvents, recordLockedEvents, VisitorMemory } from "../recording/record-events.js";
import { createPartitions, type Partitions, tryLockSites } from "../recording/record-events.query.js";
import { createSiteCommit, lockTimeoutMs, type SitePart, WriterFullError } from "../recording/site-commit.js";
import {
  type Engagement,
  eventBounds,
  type PropertyValue,
  type Revenue,
  type SiteEvent,
} from "../recording/site-event.js";
import { createSaltStore, hashVisitor, type SaltStore } from "../visitors/hash-visitor.js";
import { visitToken } from "../visitors/visit-token.js";
import { createSiteDirectory, type KnownSite, type SiteDirectory } from "./site-directory.js";

/** One site may use a quarter of the capacity. */
const siteShare = 1 / 4;

function createEventCapacity(max: number) {
  const held = new Map<string, number>();
  const maxPerSite = Math.max(1, Math.floor(max * siteShare));
  let total = 0;
  return {
    /** Takes capacity for all sites' events or for none. @throws WriterFullError `total` or `site` */
    take(groups: ReadonlyMap<string, readonly SiteEvent[]>): void {
      let more = 0;
      for (const events of groups.values()) more += events.length;
      if (total + more > max) throw new WriterFullError("total");
      for (const [siteId, events] of groups) {
        if ((held.get(siteId) ?? 0) + events.length > maxPerSite) throw new WriterFullError("site");
      }
      total += more;
      for (const [siteId, events] of groups) held.set(siteId, (held.get(siteId) ?? 0) + events.length);
    },
    give(siteId: string, events: number): void {
      const left = (held.get(siteId) ?? 0) - events;
      if (left > 0) held.set(siteId, left);
      else held.delete(siteId);
      total -= events;
    },
  };
}

/** Events that may wait, at some 500 bytes each. */
const defaultMaxWaiting = 10_000;

export interface EventWriterOptions {
  pool: pg.Pool;
  partitions: Partitions;
  maxWaiting?: number;
  maxLockWaitMs?: number;
}

interface EventWriter {
  /**
   * Resolves once the events are committed or refused. A refused site does not hold back the others.
   * @returns whether all sites have their events or only some; writing those again would count them twice
   * @throws WriterFullError when too many events wait or a site stays locked, or the database's error: no site has an event then
   */
  write(events: readonly SiteEvent[]): Promise<"whole" | "partial">;
  /** Resolves when all waiting events are written; later ones are refused. */
  drain(): Promise<void>;
}

interface Part extends SitePart {
  readonly events: readonly SiteEvent[];
}

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
  { pool, partitions, maxLockWaitMs }: EventWriterOptions,
  maxWaitingRows: number,
): GroupCommit<Part, void> {
  const memory = new VisitorMemory();
  return createSiteCommit<Part, void>({
    name: "record-events",
    pool,
    countOf: ({ events }) => events.length,
    maxWaitingRows,
    maxLockWaitMs,
    run: (parts) => writeFreeSites({ pool, partitions, memory }, parts),
    runLocked: (parts) => writeLockedSite(pool, partitions, parts),
  });
}

/** @throws the first part's error where all parts failed */
function sumUp(parts: readonly PromiseSettledResult<void>[]): "whole" | "partial" {
  const refused = parts.find((part) => part.status === "rejected");
  if (!refused) return "whole";
  if (parts.some(({ status }) => status === "fulfilled")) return "partial";
  throw refused.reason;
}

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

/** A browser's event, and its connection. Texts hold no NUL and no lone surrogates. */
export interface Beacon {
  /** `pageview`, `engagement`, or a custom event's name. */
  readonly name: string;
  /** An absolute http or https URL. */
  readonly url: URL;
  /** The part after `#` belongs to the path. */
  readonly isHashPath: boolean;
  /** As the client wrote them. */
  readonly domains: readonly string[];
  readonly referrer: string | null;
  readonly props: Readonly<Record<string, PropertyValue>> | null;
  readonly revenue?: Revenue | null;
  /** True unless given. */
  readonly isInteractive?: boolean;
  readonly engagement?: Engagement;
  /** Never stored. */
  readonly ip: string;
  /** Never stored as it is. */
  readonly userAgent: string;
  /** ISO 3166-1 alpha-2 in upper case; null if unknown. */
  readonly country: string | null;
}

/** Why a beacon was not recorded; `site-refused` if only some of its sites have it. */
type DropReason = "unknown-domain" | "bot" | "site-refused";

export interface Recorder {
  /**
   * Resolves once the event is committed, or with the reason for dropping it.
   * @param admit gets the event's sites; an error of it refuses the event
   * @throws WriterFullError or SiteDirectoryFullError when too many wait, or the database's error: no site has the event then
   */
  record(beacon: Beacon, admit?: (sites: readonly KnownSite[]) => void): Promise<{ dropped: DropReason | null }>;
  /** The token of the sender's UTC day at the first site that gives any; null for a bot, or without such a site. Stores nothing. */
  visit(sender: Pick<Beacon, "domains" | "ip" | "userAgent">): Promise<string | null>;
  /** Resolves when all waiting events are written; later ones are refused. */
  drain(): Promise<void>;
}

interface RecorderOptions {
  pool: pg.Pool;
  now?: () => number;
  maxWaiting?: number;
}

const noEngagement: Engagement = { engagedMs: null, scrollDepth: null };

const maxCachedClassifiers = 1_000;

export function createRecorder({ pool, now = Date.now, maxWaiting }: RecorderOptions): Recorder {
  const sites = createSiteDirectory({ pool, now });
  const salts = createSaltStore({ pool, now });
  const writer: EventWriter = createEventWriter({
    pool,
    partitions: createPartitions(pool, now),
    ...(maxWaiting !== undefined && { maxWaiting }),
  });
  const isBot = createBotCheck();
  const readUserAgent = createUserAgentReader();
  const classify = createClassifiers();
  let eventMillis = 0;
  const uuid = createUuidV7(() => eventMillis);

  const toEvent = (beacon: Beacon, site: KnownSite, millis: number, salt: Buffer): SiteEvent => {
    const { name, url, isHashPath, referrer, props, ip, userAgent, country } = beacon;
    const type = name === "pageview" || name === "engagement" ? name : "event";
    const isEvent = type === "event";
    // An import of the exported event takes ids near its time alone.
    eventMillis = millis;
    return {
      siteId: site.id,
      id: uuid(),
      at: `${new Date(millis).toISOString().slice(0, -1)}000Z`,
      type,
      visitor: hashVisitor(salt, site.id, ip, userAgent),
      path: cutToBytes(isHashPath ? `${url.pathname}${url.hash}` : url.pathname, eventBounds.pathBytes),
      host: cutToBytes(url.hostname, eventBounds.hostBytes),
      country,
      name: isEvent ? name : null,
      props: isEvent ? props : null,
      revenue: isEvent ? (beacon.revenue ?? null) : null,
      isInteractive: !isEvent || beacon.isInteractive !== false,
      engagement: type === "engagement" ? (beacon.engagement ?? noEngagement) : null,
      ...classify(site)(referrer, url.search || null),
      ...readUserAgent(userAgent),
    };
  };

  return {
    async record(beacon, admit) {
      const found = await findAll(sites, beacon.domains);
      if (found.length === 0) return { dropped: "unknown-domain" };
      if (isBot(beacon.userAgent)) return { dropped: "bot" };
      admit?.(found);
      const millis = now();
      const salt = await saltOf(salts, millis);
      const written = await writer.write(found.map((site) => toEvent(beacon, site, millis, salt)));
      return { dropped: written === "whole" ? null : "site-refused" };
    },
    async visit({ domains, ip, userAgent }) {
      const site = (await findAll(sites, domains)).find(({ countsCosts }) => countsCosts);
      if (!site || isBot(userAgent)) return null;
      const salt = await saltOf(salts, now());
      return visitToken(salt, site.id, hashVisitor(salt, site.id, ip, userAgent));
    },
    drain: () => writer.drain(),
  };
}

async function findAll(sites: SiteDirectory, domains: readonly string[]): Promise<readonly KnownSite[]> {
  const [first = "", ...others] = domains;
  const found = await sites.find(first);
  if (others.length === 0) return found;
  const more = await Promise.all(others.map((domain) => sites.find(domain)));
  return [...new Map([found, ...more].flat().map((site) => [site.id, site])).values()];
}

async function saltOf(salts: SaltStore, millis: number): Promise<Buffer> {
  const day = new Date(millis).toISOString().slice(0, 10);
  const salt = (await salts.saltsOf([day])).get(day);
  if (!salt) throw new Error(`There is no salt for ${day}`);
  return salt;
}

function createClassifiers() {
  const referrers = loadReferrers();
  const read = createReferrerReader(referrers);
  const byDomain = new LRUCache<string, ReturnType<typeof createSourceClassifier>>({
    max: maxCachedClassifiers,
    memoMethod: (siteDomain) => createSourceClassifier({ referrers, siteDomain, read }),
  });
  return ({ domain }: KnownSite) => byDomain.memo(domain);
}
