import { randomBytes } from "node:crypto";
import { createUuidV7, isUuid, withTransaction } from "@waymark/database";
import { AppError } from "@waymark/errors";
import type pg from "pg";
import { plansWithAlerts, requirePlan } from "../alert-rule.js";
import { openRouting, requireRoom } from "../channels/alert-settings.query.js";
import { maxChannelsPerAccount } from "../channels/channel.js";
import { lastPeriod, noFailures, type ReportContent, type ReportPeriod } from "./report.js";

const uuid = createUuidV7();

interface Member {
  accountId: string;
  personId: string;
}

/** The channels that mail a person's own proven address: a range of `channel_pkey`, probes of `person_pkey` and `account_pkey`. */
const ownChannelSql = `c.account_id = $1 AND c.kind = 'mail' AND c.disabled_at IS NULL AND c.is_confirmed
    AND COALESCE(c.address, (SELECT email FROM account WHERE id = $1)) = (SELECT email FROM person WHERE id = $2 AND is_verified)`;

const readSql = `SELECT report FROM channel c WHERE ${ownChannelSql} AND report IS NOT NULL`;

/** How often a member gets a report. */
export async function readOwnReport(pool: pg.Pool, member: Member): Promise<ReportPeriod | null> {
  const { rows } = await pool.query<{ report: ReportPeriod }>(readSql, [member.accountId, member.personId]);
  return rows[0]?.report ?? null;
}

const setSql = `
  UPDATE channel c SET report = $3, reported_until = $4, secret = COALESCE(secret, $5)
  WHERE ${ownChannelSql}`;

const addSql = `
  INSERT INTO channel (account_id, id, kind, address, statuses, report, reported_until, secret)
  SELECT $1, $6, 'mail', email, '{${noFailures}}', $3, $4, $5 FROM person WHERE id = $2 AND is_verified`;

/** Channels that were made for reports alone end with them. */
const endSql = `DELETE FROM channel WHERE account_id = $1 AND report IS NULL AND statuses = '{${noFailures}}'`;

/**
 * Sets how often a member gets a report, at the person's own address: by the channel of that address, or one of its own without
 * failures. The first is about the period that has begun. @throws AppError 400 without the plan, 409 for an account with 20 channels
 */
export function setOwnReport(
  pool: pg.Pool,
  { accountId, personId, every, now }: Member & { every: ReportPeriod | null; now: Date },
): Promise<void> {
  return withTransaction(pool, async (transaction) => {
    if (every !== null) await requirePlan(transaction, accountId, "Reports");
    await openRouting(transaction, accountId);
    const until = every === null ? null : lastPeriod(every, now).end;
    const values = [accountId, personId, every, until, randomBytes(32).toString("base64url")];
    const { rowCount } = await transaction.query(setSql, values);
    if (every === null) await transaction.query(endSql, [accountId]);
    else if (rowCount === 0) {
      const channelsSql = "SELECT FROM channel WHERE account_id = $1";
      await requireRoom(transaction, channelsSql, [accountId], { limit: maxChannelsPerAccount, what: "channels" });
      const added = await transaction.query(addSql, [...values, uuid()]);
      if (added.rowCount === 0) throw new AppError("not_found");
    }
  });
}

const stopSql = `
  UPDATE channel SET report = NULL, reported_until = NULL WHERE id = $1 AND secret = $2 AND kind = 'mail'
  RETURNING account_id AS "accountId"`;

/** Ends the report whose mail has this token; an unknown one ends nothing. A probe of `channel_id_key`. */
export async function stopReport(pool: pg.Pool, token: string): Promise<void> {
  const [id = "", secret = ""] = token.split(".", 2);
  if (!isUuid(id)) return;
  await withTransaction(pool, async (transaction) => {
    const { rows } = await transaction.query<{ accountId: string }>(stopSql, [id, secret]);
    if (rows[0]) await transaction.query(endSql, [rows[0].accountId]);
  });
}

/** Accounts with a report due, by `channel_report_idx`. */
const listDueSql = `
  SELECT DISTINCT c.account_id AS "accountId" FROM channel c JOIN account a ON a.id = c.account_id AND a.plan = ANY ($3)
  WHERE c.report = $1 AND c.reported_until < $2::date AND c.disabled_at IS NULL`;

export async function listAccountsToReport(
  pool: pg.Pool,
  { period, end }: { period: ReportPeriod; end: string },
): Promise<string[]> {
  const { rows } = await pool.query<{ accountId: string }>(listDueSql, [period, end, plansWithAlerts]);
  return rows.map(({ accountId }) => accountId);
}

// The channels' dates and their deliveries in one statement: of two workers one finds none. A range of `channel_pkey`.
const enqueueSql = `
  WITH due AS (
    UPDATE channel SET reported_until = $3
    WHERE account_id = $1 AND report = $2 AND reported_until < $3::date AND disabled_at IS NULL
    RETURNING account_id, id, secret
  )
  INSERT INTO delivery (account_id, event_id, channel_id, type, content)
  SELECT account_id, $4, id, 'report', ($5::jsonb || jsonb_build_object('unsubscribe', id || '.' || secret))::json FROM due
  WHERE $5 IS NOT NULL`;

/** Sends an account's report to each channel once. Without content the period has none. */
export async function enqueueReport(
  pool: pg.Pool,
  { accountId, period, end }: { accountId: string; period: ReportPeriod; end: string },
  content: ReportContent | undefined,
): Promise<number> {
  const values = [accountId, period, end, uuid(), content ? JSON.stringify(content) : null];
  return (await pool.query(enqueueSql, values)).rowCount ?? 0;
}
