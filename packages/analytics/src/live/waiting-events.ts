import type { SiteEvent } from "../recording/site-event.js";

/** Which limit was reached: of all events that wait, of one site's share of them, or of the time that one site's writers may take. */
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

/** Events of one site that came together. */
export interface Part {
  readonly siteId: string;
  readonly events: readonly SiteEvent[];
  /** When it came, in milliseconds of a clock that only goes forward. */
  readonly since: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Another writer had the lock of a `locked` site; a `busy` site is a locked one that a lane is writing. */
type SiteState = "free" | "locked" | "busy";

interface Site {
  state: SiteState;
  parts: Part[];
}

/** One site's share of all that may wait. */
const sitesShare = 4;

/** The events that are not written yet, by site: a site has no more than its share, and all sites take turns. */
export class WaitingEvents {
  /** Sites with parts that no batch has taken, and busy ones. */
  private readonly sites = new Map<string, Site>();
  /** Events of each site, and of all, from their coming until they are done. */
  private readonly held = new Map<string, number>();
  private total = 0;

  constructor(private readonly max: number) {}

  /**
   * Checks that there is room for all parts of what came together, so that none is taken where one is refused.
   * @throws WriterFullError where there is not
   */
  requireRoom(parts: ReadonlyMap<string, readonly SiteEvent[]>): void {
    let total = this.total;
    for (const events of parts.values()) total += events.length;
    if (total > this.max) throw new WriterFullError("total");
    const share = Math.max(1, Math.floor(this.max / sitesShare));
    for (const [siteId, events] of parts) {
      if ((this.held.get(siteId) ?? 0) + events.length > share) throw new WriterFullError("site");
    }
  }

  /** Takes a part that there is room for. */
  add(part: Part): void {
    const { siteId, events } = part;
    this.held.set(siteId, (this.held.get(siteId) ?? 0) + events.length);
    this.total += events.length;
    this.put(siteId, [part], "free");
  }

  /** Gives the room of a part back that is written or refused. */
  done({ siteId, events }: Part): void {
    const held = (this.held.get(siteId) ?? 0) - events.length;
    if (held > 0) this.held.set(siteId, held);
    else this.held.delete(siteId);
    this.total -= events.length;
  }

  /** Takes the next batch: a part of each free site in turn. */
  takeFree(maxEvents: number): Part[] {
    const batch: Part[] = [];
    let events = 0;
    for (let isMore = true; isMore && events < maxEvents; ) {
      isMore = false;
      for (const [siteId, site] of this.sites) {
        if (site.state !== "free" || events >= maxEvents) continue;
        const part = this.takeFirst(siteId, site);
        if (!part) continue;
        batch.push(part);
        events += part.events.length;
        isMore = true;
      }
    }
    // Served sites go behind the others.
    for (const siteId of new Set(batch.map((part) => part.siteId))) this.moveToEnd(siteId);
    return batch;
  }

  /** Puts back parts of sites that another writer has locked. */
  giveBack(parts: readonly Part[]): void {
    for (const [siteId, own] of groupBySite(parts)) this.put(siteId, own, "locked");
  }

  /** Takes the parts of the next locked site; the site is busy until `endTurn`. */
  takeLocked(maxEvents: number): { siteId: string; parts: Part[] } | undefined {
    for (const [siteId, site] of this.sites) {
      if (site.state !== "locked") continue;
      const parts: Part[] = [];
      for (let events = 0; events < maxEvents; ) {
        const part = this.takeFirst(siteId, site);
        if (!part) break;
        parts.push(part);
        events += part.events.length;
      }
      this.sites.delete(siteId);
      this.sites.set(siteId, { ...site, state: "busy" });
      return { siteId, parts };
    }
    return undefined;
  }

  /** Ends a busy site's turn; a locked site's turn comes again. */
  endTurn(siteId: string, state: "free" | "locked"): void {
    const site = this.sites.get(siteId);
    if (site?.state !== "busy") return;
    if (site.parts.length === 0) this.sites.delete(siteId);
    else site.state = state;
  }

  /** Takes out the parts of locked sites that came at that time or before. */
  takeExpired(since: number): Part[] {
    const expired: Part[] = [];
    for (const [siteId, site] of this.sites) {
      if (site.state === "free") continue;
      while (site.parts[0] && site.parts[0].since <= since) {
        const part = this.takeFirst(siteId, site);
        if (part) expired.push(part);
      }
    }
    return expired;
  }

  private put(siteId: string, parts: readonly Part[], state: "free" | "locked"): void {
    const site = this.sites.get(siteId) ?? { state, parts: [] };
    if (state === "locked") {
      // A busy site stays busy: a lane has it, and says itself how its turn ends.
      if (site.state === "free") site.state = "locked";
      site.parts = [...parts, ...site.parts];
    } else site.parts.push(...parts);
    this.sites.set(siteId, site);
  }

  private takeFirst(siteId: string, site: Site): Part | undefined {
    const part = site.parts.shift();
    if (site.parts.length === 0 && site.state !== "busy") this.sites.delete(siteId);
    return part;
  }

  private moveToEnd(siteId: string): void {
    const site = this.sites.get(siteId);
    if (!site) return;
    this.sites.delete(siteId);
    this.sites.set(siteId, site);
  }
}

/** Events, or parts of them, by their site, each in its order. */
export function groupBySite<Item extends { readonly siteId: string }>(items: readonly Item[]): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(item.siteId);
    if (group) group.push(item);
    else groups.set(item.siteId, [item]);
  }
  return groups;
}
