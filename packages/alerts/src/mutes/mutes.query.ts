import { isUuid, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import type pg from "pg";
import { openRouting } from "../channels/alert-settings.query.js";

const maxMutesPerAccount = 1_000;

/** A failure of `GET /api/v1/failures` whose alerts stay silent. */
interface ListedMute {
  /** The failure's. */
  id: string;
  agent_id: string;
  span_name: string | null;
  error: string | null;
  /** Null for good. */
  until: string | null;
  state: "active" | "ended";
  /** Alerts that stayed silent. */
  muted: number;
  created_at: string;
}

interface Row extends Omit<ListedMute, "until" | "created_at"> {
  until: Date | null;
  created_at: Date;
}

// A range of `mute_pkey`, and a probe of `failure_pkey` each.
const listSql = `
  SELECT m.failure_id AS id, f.agent_id, f.span_name, f.error, m.until,
    CASE WHEN m.until <= now() THEN 'ended' ELSE 'active' END AS state, m.alerts AS muted, m.created_at
  FROM mute m JOIN failure f ON f.account_id = m.account_id AND f.id = m.failure_id
  WHERE m.account_id = $1 AND ($2::uuid IS NULL OR m.failure_id = $2)
  ORDER BY m.created_at, m.failure_id`;

async function readMutes(db: pg.Pool | pg.ClientBase, accountId: string, failureId?: string): Promise<ListedMute[]> {
  const { rows } = await db.query<Row>(listSql, [accountId, failureId ?? null]);
  return rows.map(({ until, created_at, ...row }) => {
    return { ...row, until: until?.toISOString() ?? null, created_at: created_at.toISOString() };
  });
}

export function listMutes(pool: pg.Pool, accountId: string): Promise<ListedMute[]> {
  return readMutes(pool, accountId);
}

const muteSql = `
  INSERT INTO mute (account_id, failure_id, until) SELECT account_id, id, $3 FROM failure WHERE account_id = $1 AND id = $2
  ON CONFLICT (account_id, failure_id) DO UPDATE SET until = EXCLUDED.until`;

/**
 * Silences a failure's alerts until a time, or for good.
 * @throws AppError 400 for a time that is past, 404 for an unknown failure, 409 for an account with 1,000 mutes
 */
export async function createMute(
  pool: pg.Pool,
  accountId: string,
  { failureId, until, now }: { failureId: string; until?: string | undefined; now: Date },
): Promise<ListedMute> {
  if (until !== undefined && Date.parse(until) <= now.getTime())
    throw validationError({ until: "Must be a time to come" });
  if (!isUuid(failureId)) throw new AppError("failure_not_found");
  return withTransaction(pool, async (client) => {
    await openRouting(client, accountId);
    const { rowCount: count } = await client.query("SELECT FROM mute WHERE account_id = $1 AND failure_id <> $2", [
      accountId,
      failureId,
    ]);
    if ((count ?? 0) >= maxMutesPerAccount) {
      const reason = `An account has at most ${maxMutesPerAccount} mutes.`;
      throw new AppError("account_full", { details: { limit: maxMutesPerAccount, reason } });
    }
    await client.query(muteSql, [accountId, failureId, until ?? null]);
    const [mute] = await readMutes(client, accountId, failureId);
    if (!mute) throw new AppError("failure_not_found");
    return mute;
  });
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
