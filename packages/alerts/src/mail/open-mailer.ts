import { resolve } from "node:path";
import { urlVariable } from "@waymark/service";
import type { Logger } from "pino";
import { z } from "zod";
import type { Mailer } from "./mailer.js";

/** `name@host` or `Name <name@host>`, on one line: Resend checks the rest. */
const sender = z
  .string()
  .max(320)
  .regex(/^(?:[^<>\r\n]*<[^@\s<>]+@[^@\s<>]+>|[^@\s<>]+@[^@\s<>]+)$/, "must be like 'Waymark <alerts@example.com>'");

export function mailVariables(env: NodeJS.ProcessEnv) {
  return {
    RESEND_API_KEY: z.string().optional(),
    RESEND_BASE_URL: urlVariable(["https:", "http:"]).default("https://api.resend.com"),
    // Resend sends from verified domains only, so no default works with its key.
    ALERT_FROM: env["RESEND_API_KEY"] ? sender : sender.default("Waymark <alerts@localhost>"),
    WAYMARK_DATA_DIR: z.string().default(".waymark"),
  };
}

type MailValues = z.output<z.ZodObject<ReturnType<typeof mailVariables>>>;

/** How mails leave: through Resend, or as files in a folder. Reads the variables of {@link mailVariables}. */
export function readMailSettings(read: MailValues) {
  return {
    from: read.ALERT_FROM,
    resend: read.RESEND_API_KEY
      ? { apiKey: read.RESEND_API_KEY, baseUrl: read.RESEND_BASE_URL.replace(/\/+$/, "") }
      : undefined,
    folder: resolve(read.WAYMARK_DATA_DIR, "mails"),
  };
}

/** Opens Resend with its key, or the mailer of files. Loads only the one in use: each brings a library along. */
export async function openMailer(
  { from, folder, resend }: ReturnType<typeof readMailSettings>,
  log: Logger,
): Promise<Mailer> {
  if (resend) {
    const { createResendMailer } = await import("./resend-mailer.js");
    return createResendMailer({ ...resend, from });
  }
  const { createFileMailer } = await import("./file-mailer.js");
  return createFileMailer({ folder, from, log });
}
