import { performance } from "node:perf_hooks";
import { createGroupCommit, type GroupCommit, type GroupCommitOptions } from "@waymark/database";
import type pg from "pg";

/** The limit that refused a part: of all that wait, of one site's share, or of the wait for one site's lock. */
type WriterLimit = "total" | "site" | "site-lock";

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

/** Longer than any batch of an import holds a site's lock. */
export const lockTimeoutMs = 1_000;

/** After this wait for its site's lock a part is refused. */
const defaultMaxLockWaitMs = 5_000;

/** Connections that may wait for sites' locks; fewer where the pool would have none left for other work. */
const maxLockWaits = 3;

const maxBatch = 1_000;

/** What one request brings for a site. */
export interface SitePart {
  readonly siteId: string;
  /** Time of arrival, by `performance.now()`. */
  readonly since: number;
}

interface SiteCommitOptions<Part, Result>
  extends Pick<GroupCommitOptions<Part, Result>, "name" | "countOf" | "maxWaitingRows" | "run" | "runLocked"> {
  pool: pg.Pool;
  maxLockWaitMs?: number | undefined;
}

/**
 * Writes parts by group commit, in turns between sites. `run` never waits for a site's lock: parts of a locked site wait apart,
 * on up to three connections, so that an import or a rebuild of one site does not hold up another.
 */
export function createSiteCommit<Part extends SitePart, Result>({
  pool,
  maxLockWaitMs = defaultMaxLockWaitMs,
  ...options
}: SiteCommitOptions<Part, Result>): GroupCommit<Part, Result> {
  return createGroupCommit<Part, Result>({
    ...options,
    ownerOf: ({ siteId }) => siteId,
    targetOf: ({ siteId }) => siteId,
    sharesTargets: true,
    maxRows: maxBatch,
    refuse: ({ scope }) => new WriterFullError(scope === "owner" ? "site" : "total"),
    maxLockWaits: Math.max(1, Math.min(maxLockWaits, (pool.options.max ?? 1) - 2)),
    giveUp: ({ since }) => (performance.now() - since >= maxLockWaitMs ? new WriterFullError("site-lock") : undefined),
    retry: "in-halves",
  });
}
