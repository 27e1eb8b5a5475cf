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
export function createEventCapacity(max: number): EventCapacity {
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
