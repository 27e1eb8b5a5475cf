import { isUuid, type Queryable, textTimes, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import type pg from "pg";
import { openRouting, requireRoom } from "../channels/alert-settings.query.js";

const maxMutesPerAccount = 1_000;

/** A failure of `GET /api/v1/failures` whose alerts stay silent. */
interface MuteRow {
  /** The failure's. */
  id: string;
  agent_id: string;
  span_name: string | null;
  error: string | null;
  /** Null for good. */
  until: Date | null;
  state: "active" | "ended";
  /** Alerts that stayed silent. */
  muted: number;
  created_at: Date;
}

// A range of `mute_pkey`, and a probe of `failure_pkey` each.
const listSql = `
  SELECT m.failure_id AS id, f.agent_id, f.span_name, f.error, m.until,
    CASE WHEN m.until <= now() THEN 'ended' ELSE 'active' END AS state, m.alerts AS muted, m.created_at
  FROM mute m JOIN failure f ON f.account_id = m.account_id AND f.id = m.failure_id
  WHERE m.account_id = $1 AND ($2::uuid IS NULL OR m.failure_id = $2)
  ORDER BY m.created_at, m.failure_id`;

/** The account's mutes, oldest first. @param failureId reads its mute alone */
export async function listMutes(db: Queryable, accountId: string, failureId?: string) {
  const { rows } = await db.query<MuteRow>(listSql, [accountId, failureId ?? null]);
  return rows.map(textTimes);
}

/** Probes of `failure_pkey` and `mute_pkey`. */
const muteSql = `
  INSERT INTO mute (account_id, failure_id, until) SELECT account_id, id, $3 FROM failure
  WHERE account_id = $1 AND id = ANY ($2::uuid[]) ORDER BY id
  ON CONFLICT (account_id, failure_id) DO UPDATE SET until = EXCLUDED.until RETURNING failure_id AS id`;

interface FailuresToMute {
  failureIds: readonly string[];
  /** For good if not told. */
  until?: string | undefined;
  now: Date;
}

/**
 * Mutes failures by one transaction, and returns the ids of those that the account has.
 * @throws AppError 400 for a past time, 409 for an account with 1,000 mutes
 */
export async function muteFailures(
  pool: pg.Pool,
  accountId: string,
  { failureIds, until, now }: FailuresToMute,
): Promise<string[]> {
  if (until !== undefined && Date.parse(until) <= now.getTime())
    throw validationError({ until: "Must be a time to come" });
  return withTransaction(pool, async (client) => {
    await openRouting(client, accountId);
    const { rows } = await client.query<{ id: string }>(muteSql, [accountId, failureIds, until ?? null]);
    const mutesSql = "SELECT FROM mute WHERE account_id = $1";
    await requireRoom(client, mutesSql, [accountId], { limit: maxMutesPerAccount, what: "mutes", added: 0 });
    return rows.map(({ id }) => id);
  });
}

/** Until a time, or for good. @throws AppError 400 for a past time, 404, or 409 for an account with 1,000 mutes */
export async function createMute(
  pool: pg.Pool,
  accountId: string,
  { failureId, ...options }: { failureId: string; until?: string | undefined; now: Date },
) {
  const failureIds = isUuid(failureId) ? [failureId] : [];
  const [id] = await muteFailures(pool, accountId, { failureIds, ...options });
  const [mute] = id === undefined ? [] : await listMutes(pool, accountId, id);
  if (!mute) throw new AppError("failure_not_found");
  return mute;
}

/** Ends a mute: further failures are told again. An operator may name no account. @throws AppError 404 */
export async function deleteMute(
  pool: pg.Pool,
  { failureId, accountId }: { failureId: string; accountId?: string | undefined },
): Promise<{ id: string; muted: number }> {
  const sql = `DELETE FROM mute WHERE failure_id = $1 AND ($2::uuid IS NULL OR account_id = $2)
    RETURNING failure_id AS id, alerts AS muted`;
  const values = [failureId, accountId ?? null];
  const { rows } = isUuid(failureId) ? await pool.query<{ id: string; muted: number }>(sql, values) : { rows: [] };
  if (!rows[0]) throw new AppError("mute_not_found");
  return rows[0];
}
