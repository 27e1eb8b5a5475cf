import { connect, isIP, type Socket } from "node:net";
import { oneLine } from "./mail-text.js";
import type { SmtpSettings } from "./mail-variables.js";
import type { Delivery, Mailer } from "./mailer.js";

interface SmtpMailerOptions {
  smtp: SmtpSettings;
  from: string;
  /** A certificate to trust beside those that Node trusts. */
  ca?: string;
  timeoutMs?: number;
}

/** For the whole attempt: a delivery's lease is longer. */
const defaultTimeoutMs = 15_000;

/**
 * Sends each mail over a connection of its own, encrypted unless the server is this machine. The Message-ID comes from the
 * idempotency key: SMTP has no guard of its own, and receivers recognize a repeated mail by it.
 */
export function createSmtpMailer({ smtp, from, ca, timeoutMs = defaultTimeoutMs }: SmtpMailerOptions): Mailer {
  const { host, port, isSecure, isLoopback, auth } = smtp;
  const domain = /@([^@\s<>]+)>?$/.exec(from)?.[1] ?? "waymark";
  return {
    async send({ idempotencyKey, ...mail }) {
      const { createTransport } = await import("nodemailer");
      const socket = connect({ host, port });
      const timer = setTimeout(() => socket.destroy(new Error("no answer in time")), timeoutMs);
      const transport = createTransport({
        host,
        port,
        secure: isSecure,
        requireTLS: !isSecure && !isLoopback,
        ignoreTLS: !isSecure && isLoopback,
        ...(auth && { auth }),
        tls: { ...(isIP(host) === 0 && { servername: host }), ...(ca !== undefined && { ca }) },
        getSocket(_options: object, use: (error: Error | null, options?: { connection: Socket }) => void) {
          socket.once("error", use).once("connect", () => {
            // The transport listens from here on; what comes after its end is no news.
            socket.off("error", use).on("error", () => undefined);
            use(null, { connection: socket });
          });
        },
      });
      try {
        await transport.sendMail({ from, ...mail, messageId: `<${idempotencyKey}@${domain}>` });
        return { outcome: "sent" };
      } catch (error) {
        return judge(error as SmtpError);
      } finally {
        clearTimeout(timer);
        socket.destroy();
      }
    },
  };
}

interface SmtpError extends Error {
  responseCode?: number;
  response?: string;
  command?: string;
}

/** Answers about this mail and its receiver. A wrong password or sender is not here: the operator can mend it. */
const commandsOfMail: readonly string[] = ["RCPT TO", "DATA"];

function judge({ responseCode, response = "", command = "", message }: SmtpError): Delivery {
  if (responseCode === undefined)
    return { outcome: "deferred", reason: `The mail server could not be used: ${oneLine(message, 200)}` };
  const reason = oneLine(`The mail server answered ${response}`, 300);
  const isRefused = responseCode >= 500 && commandsOfMail.includes(command);
  return { outcome: isRefused ? "refused" : "deferred", reason };
}
