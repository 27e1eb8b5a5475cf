import { mkdir, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { urlVariable } from "@waymark/service";
import { createTransport } from "nodemailer";
import type { Logger } from "pino";
import { Resend } from "resend";
import { z } from "zod";
import { readRetryAfter } from "../retry-after.js";

export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The same for every attempt at the same mail, so two attempts never become two mails. */
  idempotencyKey: string;
}

export type Delivery =
  | { outcome: "sent" }
  /** It may work later; `retryAfterMs` if the mail service asks for it. */
  | { outcome: "deferred"; reason: string; retryAfterMs?: number | undefined }
  /** Too many mails at the moment: no fault of this mail. */
  | { outcome: "rate-limited"; reason: string; retryAfterMs: number }
  /** It never works as it is. */
  | { outcome: "refused"; reason: string };

/** Sends mails; reports problems of the mail or its receiver as an outcome, not as an error. */
export interface Mailer {
  send(mail: Mail): Promise<Delivery>;
}

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
  const composer = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
  return {
    async send({ idempotencyKey, ...mail }) {
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

interface ResendMailerOptions {
  apiKey: string;
  /** Of Resend's API, without a slash at the end. */
  baseUrl: string;
  from: string;
  timeoutMs?: number;
  now?: () => number;
}

/** Resend answers within a second or two; the idempotency key makes giving up safe. */
const defaultTimeoutMs = 15_000;

/** After a 429 without `Retry-After`: Resend counts by the second. */
const defaultRateLimitMs = 1_000;

/** The mail itself is wrong. A wrong key or sender is not here: the operator can mend it, and the mail waits. */
const refusedStatuses: readonly number[] = [400, 404, 405, 413, 422];

/**
 * Sends through Resend's API (resend.com/docs/api-reference/errors). While Resend says 429, further mails are not even
 * tried: one answer is enough to know.
 */
export function createResendMailer(options: ResendMailerOptions): Mailer {
  const { from, timeoutMs = defaultTimeoutMs, now = Date.now } = options;
  const resend = new Resend(options.apiKey, { baseUrl: options.baseUrl });
  let closedUntil = 0;
  return {
    async send({ idempotencyKey, ...mail }) {
      const closedMs = closedUntil - now();
      if (closedMs > 0) return { outcome: "rate-limited", reason: "Resend asked to wait", retryAfterMs: closedMs };
      const signal = AbortSignal.timeout(timeoutMs);
      const { error, headers } = await resend.emails.send({ from, ...mail }, { idempotencyKey, signal });
      if (!error) return { outcome: "sent" };
      const retryAfterMs = readRetryAfter(headers?.["retry-after"], now());
      const delivery = judge({ ...error, isTimeout: signal.aborted }, retryAfterMs);
      if (delivery.outcome === "rate-limited") closedUntil = now() + delivery.retryAfterMs;
      return delivery;
    },
  };
}

interface Failure {
  name?: string;
  message?: string;
  /** Null without an answer; missing if the answer's body does not repeat it. */
  statusCode?: number | null;
  isTimeout: boolean;
}

function judge(failure: Failure, retryAfterMs: number | undefined): Delivery {
  const { name = "", statusCode = null } = failure;
  // An earlier attempt used the key with another text: Resend sent that mail.
  if (name === "invalid_idempotent_request") return { outcome: "sent" };
  const reason = describe(failure);
  if (name.endsWith("_quota_exceeded")) return { outcome: "deferred", reason, retryAfterMs };
  const isRateLimited = statusCode === 429 || (statusCode === null && retryAfterMs !== undefined);
  if (isRateLimited) return { outcome: "rate-limited", reason, retryAfterMs: retryAfterMs ?? defaultRateLimitMs };
  if (statusCode !== null && refusedStatuses.includes(statusCode)) return { outcome: "refused", reason };
  return { outcome: "deferred", reason, retryAfterMs };
}

function describe({ name, message, statusCode, isTimeout }: Failure): string {
  if (isTimeout) return "Resend did not answer in time";
  const status = typeof statusCode === "number" ? `Resend answered ${statusCode}` : "Resend could not be reached";
  return `${status}: ${[name, message].filter(Boolean).join(": ")}`;
}

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
    const { createResendMailer } = await import("./mailer.js");
    return createResendMailer({ ...resend, from });
  }
  const { createFileMailer } = await import("./mailer.js");
  return createFileMailer({ folder, from, log });
}
