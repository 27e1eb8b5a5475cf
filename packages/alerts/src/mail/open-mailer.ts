import { constants } from "node:fs";
import { access, mkdir } from "node:fs/promises";
import { writable } from "@waymark/service";
import type { Logger } from "pino";
import type { readMailSettings } from "./mail-variables.js";
import type { Mailer } from "./mailer.js";

/**
 * Opens Resend with its key, the mail server, or the mailer of files. Loads only the one in use: each brings a library along.
 * @throws ConfigError for a folder of mails that cannot be written
 */
export async function openMailer(
  { from, folder, resend, smtp, isProduction }: ReturnType<typeof readMailSettings>,
  log: Logger,
): Promise<Mailer> {
  if (resend) {
    const { createResendMailer } = await import("./resend-mailer.js");
    return createResendMailer({ ...resend, from });
  }
  if (smtp) {
    const { createSmtpMailer } = await import("./smtp-mailer.js");
    return createSmtpMailer({ smtp, from });
  }
  const open = mkdir(folder, { recursive: true, mode: 0o700 }).then(() => access(folder, constants.W_OK));
  await writable("WAYMARK_DATA_DIR", open);
  if (isProduction)
    log.warn({ folder }, "mails become files, and nobody gets them: set ALERT_FROM and RESEND_API_KEY or SMTP_URL");
  const { createFileMailer } = await import("./file-mailer.js");
  return createFileMailer({ folder, from, log });
}
