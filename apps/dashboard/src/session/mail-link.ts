import { createLink, hasEnoughLinks, linkUrl, type NewLink } from "@waymark/accounts/identity";
import type pg from "pg";
import type { Config } from "../config.js";
import type { AccountMails } from "./account-mails.js";

export interface MailLinkDeps {
  pool: pg.Pool;
  config: Pick<Config, "url">;
  mails: AccountMails;
  now(): Date;
}

type MailedLink = Omit<NewLink, "now" | "purpose"> & { purpose: "verify" | "reset" | "sign_in" };

/** Mails a link, unless the address has ten of the purpose that still work: nobody fills a mailbox, or locks anybody out. */
export async function mailLink({ pool, config, mails, now }: MailLinkDeps, mailed: MailedLink): Promise<void> {
  const link = { ...mailed, now: now() };
  if (await hasEnoughLinks(pool, link)) return;
  const { token, expiresAt } = await createLink(pool, link);
  await mails.send(link.email, { purpose: link.purpose, link: linkUrl(config.url.href, token), expiresAt });
}
