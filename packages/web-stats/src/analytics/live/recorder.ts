import { createUuidV7 } from "@waymark/database";
import { LRUCache } from "lru-cache";
import type pg from "pg";
import { cutToBytes } from "../attribution/cut-to-bytes.js";
import { loadReferrers } from "../attribution/referrer-directory.js";
import { createReferrerReader, createSourceClassifier } from "../attribution/source-classifier.js";
import { createBotCheck, createUserAgentReader } from "../attribution/user-agent.js";
import { createPartitions } from "../recording/partitions.query.js";
import {
  type Engagement,
  eventBounds,
  type PropertyValue,
  type Revenue,
  type SiteEvent,
} from "../recording/site-event.js";
import { hashVisitor } from "../visitors/hash-visitor.js";
import { createSaltStore } from "../visitors/salts.query.js";
import { createEventWriter, type EventWriter } from "./event-writer.js";
import { createSiteDirectory, type KnownSite } from "./site-directory.js";

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
  /** Of a custom event. */
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
  record(beacon: Beacon, admit?: (siteIds: readonly string[]) => void): Promise<{ dropped: DropReason | null }>;
  /** Resolves when all waiting events are written; later ones are refused. */
  drain(): Promise<void>;
}

export interface RecorderOptions {
  pool: pg.Pool;
  /** Milliseconds since 1970. */
  now?: () => number;
  maxWaiting?: number;
}

const noEngagement: Engagement = { engagedMs: null, scrollDepth: null };

const maxCachedClassifiers = 1_000;

/** Records live events on the write path of imports. */
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

  /** Each site once. */
  async function findAll(domains: readonly string[]): Promise<readonly KnownSite[]> {
    const [first = "", ...others] = domains;
    const found = await sites.find(first);
    if (others.length === 0) return found;
    const more = await Promise.all(others.map((domain) => sites.find(domain)));
    return [...new Map([found, ...more].flat().map((site) => [site.id, site])).values()];
  }

  return {
    async record(beacon, admit) {
      const found = await findAll(beacon.domains);
      if (found.length === 0) return { dropped: "unknown-domain" };
      if (isBot(beacon.userAgent)) return { dropped: "bot" };
      admit?.(found.map(({ id }) => id));
      const millis = now();
      const day = new Date(millis).toISOString().slice(0, 10);
      const salt = (await salts.saltsOf([day])).get(day);
      if (!salt) throw new Error(`There is no salt for ${day}`);
      const written = await writer.write(found.map((site) => toEvent(beacon, site, millis, salt)));
      return { dropped: written === "whole" ? null : "site-refused" };
    },
    drain: () => writer.drain(),
  };
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
