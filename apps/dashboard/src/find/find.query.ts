import type pg from "pg";

/** Of each kind. */
export const maxFound = 8;
/** Looked at, so that an account of any size answers in a few milliseconds. */
const [maxAgents, newestTraces] = [5_000, 1_000];

const hasWords = (text: string) => `lower(${text}) LIKE ALL ($2::text[])`;

/** Values of a label that begin with $3: one probe of its index for each. */
const beginningSql = (label: "session_id" | "user_id") => `
  WITH RECURSIVE found (value, place) AS (
    (SELECT ${label}, 1 FROM trace WHERE account_id = $1 AND ${label} >= $3 ORDER BY ${label} LIMIT 1)
    UNION ALL
    SELECT (SELECT ${label} FROM trace WHERE account_id = $1 AND ${label} > found.value ORDER BY ${label} LIMIT 1), place + 1
    FROM found WHERE starts_with(found.value, $3) AND place < ${maxFound}
  )
  SELECT value FROM found WHERE starts_with(value, $3)`;

/**
 * What an account has of a name with all words, at most 8 of each kind: its agents by `agent_pkey`, sites by
 * `site_account_id_idx`, newest traces by `trace_listing_idx`, views by `saved_view_account_id_name_key`; conversations and users that begin so, by probes of
 * `trace_session_idx` and `trace_user_idx`.
 */
const findSql = `
  (SELECT 'agent' AS kind, id, id AS name, NULL AS note FROM (
    SELECT id FROM agent WHERE account_id = $1 ORDER BY id LIMIT ${maxAgents}
  ) agents WHERE ${hasWords("id")} LIMIT ${maxFound})
  UNION ALL
  (SELECT 'site', id::text, name, domain FROM site
   WHERE account_id = $1 AND ${hasWords("name || ' ' || domain")} ORDER BY id LIMIT ${maxFound})
  UNION ALL
  (SELECT 'trace', id::text, name, agent_id FROM (
    SELECT id, name, agent_id FROM trace WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT ${newestTraces}
  ) traces WHERE ${hasWords("name")} LIMIT ${maxFound})
  UNION ALL
  (SELECT 'view', query, name, NULL FROM saved_view WHERE account_id = $1 AND ${hasWords("name")} LIMIT ${maxFound})
  UNION ALL
  SELECT 'session', value, value, NULL FROM (${beginningSql("session_id")}) sessions
  UNION ALL
  SELECT 'user', value, value, NULL FROM (${beginningSql("user_id")}) users`;

export interface Found {
  kind: "agent" | "site" | "trace" | "session" | "user" | "view";
  /** Of a view its query. */
  id: string;
  name: string;
  /** A site's domain, or a trace's agent. */
  note: string | null;
}

export async function findByName(pool: pg.Pool, accountId: string, text: string): Promise<Found[]> {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const { rows } = await pool.query<Found>({
    name: "find-by-name",
    text: findSql,
    values: [accountId, words.map((word) => `%${word.replace(/[\\%_]/g, "\\$&")}%`), text.trim()],
  });
  return rows;
}
