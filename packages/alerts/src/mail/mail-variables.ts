import { resolve } from "node:path";
import { ConfigError, isLoopbackHost, urlVariable } from "@waymark/service";
import { z } from "zod";

/** `name@host` or `Name <name@host>`, on one line: the mail server checks the rest. */
const sender = z
  .string()
  .max(320)
  .regex(/^(?:[^<>\r\n]*<[^@\s<>]+@[^@\s<>]+>|[^@\s<>]+@[^@\s<>]+)$/, "must be like 'Waymark <alerts@example.com>'");

export interface SmtpSettings {
  host: string;
  port: number;
  /** TLS from the first byte; else STARTTLS. */
  isSecure: boolean;
  isLoopback: boolean;
  auth?: { user: string; pass: string };
}

const smtpForm = "must be like smtps://USER:PASSWORD@HOST:465, with special characters percent-encoded";

const smtpUrl = urlVariable(["smtps:", "smtp:"]).transform((text, context): SmtpSettings => {
  const url = new URL(text);
  const isPlain = /^\/?$/.test(url.pathname) && url.search === "" && url.hash === "";
  try {
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (isPlain && host !== "" && (user === "") === (pass === "")) {
      const isSecure = url.protocol === "smtps:";
      const port = Number(url.port || (isSecure ? 465 : 587));
      return { host, port, isSecure, isLoopback: isLoopbackHost(host), ...(user !== "" && { auth: { user, pass } }) };
    }
  } catch {
    // An incomplete percent-encoding.
  }
  context.addIssue({ code: "custom", message: smtpForm });
  return z.NEVER;
});

export function mailVariables(env: NodeJS.ProcessEnv) {
  return {
    RESEND_API_KEY: z.string().optional(),
    RESEND_BASE_URL: urlVariable(["https:", "http:"]).default("https://api.resend.com"),
    SMTP_URL: smtpUrl.optional(),
    // A mail service takes known senders only, so no default works with it.
    ALERT_FROM: env["RESEND_API_KEY"] || env["SMTP_URL"] ? sender : sender.default("Waymark <alerts@localhost>"),
    WAYMARK_DATA_DIR: z.string().default(".waymark"),
    NODE_ENV: z.string().optional(),
  };
}

type MailValues = z.output<z.ZodObject<ReturnType<typeof mailVariables>>>;

/**
 * How mails leave: through Resend, by SMTP, or as files in a folder. Reads the variables of {@link mailVariables}.
 * @throws ConfigError for two ways at once
 */
export function readMailSettings(read: MailValues) {
  if (read.RESEND_API_KEY && read.SMTP_URL) throw new ConfigError(["SMTP_URL must be empty with RESEND_API_KEY"]);
  return {
    from: read.ALERT_FROM,
    resend: read.RESEND_API_KEY
      ? { apiKey: read.RESEND_API_KEY, baseUrl: read.RESEND_BASE_URL.replace(/\/+$/, "") }
      : undefined,
    smtp: read.SMTP_URL,
    folder: resolve(read.WAYMARK_DATA_DIR, "mails"),
    isProduction: read.NODE_ENV === "production",
  };
}
