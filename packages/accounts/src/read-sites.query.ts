import type pg from "pg";
import { isSettledSql, receivesSql } from "./domain-claims.query.js";

/** A site with the state of its domain and of its visits. */
export interface SiteState {
  id: string;
  domain: string;
  name: string;
  createdAt: Date;
  /** False while another account has the domain, or asks for it and nobody has proven it: the site gets no events. */
  isProven: boolean;
  /** Whether another account's claim cannot end that. */
  isSettled: boolean;
  proofToken: string;
  /** The first and last UTC day with visits or custom events, `YYYY-MM-DD`; null without any. */
  firstDay: string | null;
  lastDay: string | null;
}

/** By `site_account_id_idx`; for each site the ends of its ranges in `daily_stat_pkey` and `daily_event_pkey`: four probes. */
const readSitesSql = `
  SELECT id, domain, name, created_at AS "createdAt", ${receivesSql} AS "isProven", ${isSettledSql} AS "isSettled", proof_token AS "proofToken",
    LEAST(
      (SELECT day FROM daily_stat WHERE site_id = site.id AND dimension = 'total' ORDER BY day LIMIT 1),
      (SELECT day FROM daily_event WHERE site_id = site.id ORDER BY day LIMIT 1)
    )::text AS "firstDay",
    GREATEST(
      (SELECT day FROM daily_stat WHERE site_id = site.id AND dimension = 'total' ORDER BY day DESC LIMIT 1),
      (SELECT day FROM daily_event WHERE site_id = site.id ORDER BY day DESC LIMIT 1)
    )::text AS "lastDay"
  FROM site WHERE account_id = $1 AND ($2::uuid IS NULL OR id = $2) ORDER BY id`;

/** The account's sites, oldest first. @param siteId reads this one alone */
export async function readSites(pool: pg.Pool, accountId: string, siteId?: string): Promise<SiteState[]> {
  const { rows } = await pool.query<SiteState>(readSitesSql, [accountId, siteId ?? null]);
  return rows;
}
