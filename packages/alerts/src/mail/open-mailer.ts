import type { Logger } from "pino";
import type { Mailer } from "./mailer.js";
import type { MailSettings } from "./settings.js";

/** Opens Resend with its key, or the mailer of files. Loads only the one in use: each brings a library along. */
export async function openMailer({ from, folder, resend }: MailSettings, log: Logger): Promise<Mailer> {
  if (resend) {
    const { createResendMailer } = await import("./resend-mailer.js");
    return createResendMailer({ ...resend, from });
  }
  const { createFileMailer } = await import("./file-mailer.js");
  return createFileMailer({ folder, from, log });
}
