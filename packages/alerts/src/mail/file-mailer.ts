import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Mailer } from "./mailer.js";

interface FileMailerOptions {
  folder: string;
  from: string;
  log: Logger;
}

/**
 * Writes each mail as a file for mail programs (RFC 5322, `.eml`), in place of Resend. The idempotency key names the file, so a
 * second attempt replaces the first.
 */
export function createFileMailer({ folder, from, log }: FileMailerOptions): Mailer {
  return {
    async send({ idempotencyKey, ...mail }) {
      const { createTransport } = await import("nodemailer");
      const composer = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
      const { message } = await composer.sendMail({ from, ...mail, messageId: `<${idempotencyKey}@waymark>` });
      const path = join(folder, `${idempotencyKey}.eml`);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Whole or not at all, and readable by its owner alone: it holds an agent's error.
      await writeFile(`${path}.new`, message as Buffer, { mode: 0o600 });
      await rename(`${path}.new`, path);
      log.info({ path, to: mail.to, subject: mail.subject }, "mail written");
      return { outcome: "sent" };
    },
  };
}
