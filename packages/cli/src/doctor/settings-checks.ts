import { mailVariables, openMailer, readMailSettings } from "@waymark/alerts/mail";
import { createUuidV7 } from "@waymark/database";
import { ConfigError, createLogger, findNotices, readEnv } from "@waymark/service";
import { nearestOf } from "@waymark/service/http";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import type { Installation } from "./installation.js";

const leastPasswordLength = 12;

/** What a file of settings, or the environment, says. */
export const settingsChecks: readonly Check<Installation>[] = [
  { name: "settings", look: checkSettings },
  { name: "passwords", look: checkPasswords },
  { name: "mail", look: checkMail },
];

const noFile = unknown("--settings FILE looks at a file such as docker/.env.");

/** A file has names of Waymark alone, an environment also those of other programs. */
async function checkSettings({ settings, env, known }: Installation): Promise<Verdict> {
  const { path, names, isOpen } = settings ?? { path: "", names: [], isOpen: false };
  if (isOpen) return wrong(`Everybody on this machine reads ${path} with its passwords.`, `Run 'chmod 600 ${path}'.`);
  if (!known) return unknown("There is no .env.example to compare with.");
  const notices = findNotices(env, known);
  const isStrange = (name: string) =>
    !known.includes(name) && !name.startsWith("COMPOSE_") && !notices.some((notice) => notice.name === name);
  const told = names.filter(isStrange).map((name) => {
    const near = nearestOf(name, known);
    return { name, says: near ? `is not read: did you mean ${near}?` : "is not read" };
  });
  const problems = [...notices, ...told].map(({ name, says }) => `${name} ${says}`);
  const cure = "Mend or delete them; .env.example lists every setting.";
  if (problems.length > 0) return wrong(`${problems.join("; ")}.`.replace("?.", "?"), cure);
  return settings ? good(`All ${names.length} settings are known.`) : noFile;
}

async function checkPasswords({ settings, env }: Installation): Promise<Verdict> {
  if (!settings) return noFile;
  const named = settings.names.filter((name) => name.endsWith("_PASSWORD"));
  const cure = "Make each with 'openssl rand -hex 24'.";
  const weak = named.filter((name) => (env[name] ?? "").length < leastPasswordLength);
  if (weak.length > 0) return wrong(`Shorter than ${leastPasswordLength} characters: ${weak.join(", ")}.`, cure);
  const twins = named.filter((name) => named.some((other) => other !== name && env[other] === env[name]));
  if (twins.length > 0) return wrong(`The same password stands in ${twins.join(", ")}.`, cure);
  return named.length === 0 ? unknown("The file has no passwords.") : good(`${named.length} passwords, no two alike.`);
}

async function checkMail({ env, settings, mailTo }: Installation): Promise<Verdict> {
  const [resend, from] = [env["RESEND_API_KEY"], env["ALERT_FROM"]];
  const key = resend || env["SMTP_URL"];
  if (key && from && mailTo !== undefined) return sendTestMail(env, mailTo);
  if (key && from) return good(`${resend ? "Resend" : "The mail server"} sends mails from ${from}.`);
  if (!settings && !key && !from && mailTo === undefined) return noFile;
  if (key || from)
    return wrong(
      `${key ? "ALERT_FROM" : "RESEND_API_KEY or SMTP_URL"} is missing: mails are files.`,
      "Set both, and send a test: 'waymark doctor --operator --mail ADDRESS'.",
    );
  return wrong("Mails are files: nobody is told of a failure.", "Set ALERT_FROM, and RESEND_API_KEY or SMTP_URL.");
}

/** Sends as the worker would: by the same settings, with the same timeouts. */
async function sendTestMail(env: Installation["env"], to: string): Promise<Verdict> {
  const cure = "Look at ALERT_FROM, and RESEND_API_KEY or SMTP_URL: until then mails wait, and nobody is told.";
  try {
    const settings = readMailSettings(readEnv(env, mailVariables(env)));
    const mailer = await openMailer(settings, createLogger({ service: "doctor", level: "silent" }));
    const text = "Waymark can send mails from here: 'waymark doctor --operator' sent this one.";
    const mail = { to, subject: "A test of Waymark's mails", text, html: `<p>${text}</p>` };
    const sent = await mailer.send({ ...mail, idempotencyKey: createUuidV7()() });
    if (sent.outcome === "sent") return good(`A mail to ${to} is on its way: look whether it arrives.`);
    return wrong(`The mail to ${to} was not taken: ${sent.reason}.`, cure);
  } catch (error) {
    if (error instanceof ConfigError) return wrong(`${error.problems.join("; ")}.`, cure);
    throw error;
  }
}
