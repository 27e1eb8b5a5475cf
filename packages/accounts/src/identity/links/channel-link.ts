import { AppError } from "@waymark/errors";
import type pg from "pg";
import { createLink, hasEnoughLinks } from "./link.query.js";

const maxPerAccount = 20;
const retryAfterSeconds = 86_400;

export interface ChannelToConfirm {
  email: string;
  accountId: string;
  channelId: string;
}

/** A range of `one_time_link_account_id_idx`. */
const countSql = `
  SELECT count(*)::int AS links FROM one_time_link
  WHERE account_id = $1 AND purpose = 'channel' AND used_at IS NULL AND expires_at > $2`;

/** Makes the link by which a stranger's address takes alerts, under the account's lock. @throws AppError 429 */
export async function createChannelLink(client: pg.ClientBase, channel: ChannelToConfirm): Promise<string> {
  const { email, accountId, channelId } = channel;
  const now = new Date();
  const { rows } = await client.query<{ links: number }>(countSql, [accountId, now]);
  const isFull = (rows[0]?.links ?? 0) >= maxPerAccount;
  if (isFull || (await hasEnoughLinks(client, { email, purpose: "channel", now }))) {
    const reason = `At most ${isFull ? `${maxPerAccount} links of an account` : "10 links to an address"} a day.`;
    const headers = { "Retry-After": String(retryAfterSeconds) };
    throw new AppError("rate_limited", { details: { retry_after: retryAfterSeconds, reason }, headers });
  }
  return (await createLink(client, { purpose: "channel", email, accountId, channelId, now })).token;
}
