import { mailVariables, openMailer, readMailSettings } from "@waymark/alerts/mail";
import { createUuidV7 } from "@waymark/database";
import { ConfigError, createLogger, readEnv } from "@waymark/service";
import { nearestOf } from "@waymark/service/http";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import type { Installation } from "./installation.js";

const leastPasswordLength = 12;

/** What a file of settings, or the environment, says. */
export const settingsChecks: readonly Check<Installation>[] = [
  { name: "settings", look: checkSettings },
  { name: "passwords", look: checkPasswords },
  { name: "mail", look: checkMail },
  { name: "proxies", look: checkProxies },
];

const noFile = unknown("--settings FILE looks at a file such as docker/.env.");

async function checkSettings({ settings }: Installation): Promise<Verdict> {
  if (!settings) return noFile;
  const { path, names, isOpen, known } = settings;
  if (isOpen) return wrong(`Everybody on this machine reads ${path} with its passwords.`, `Run 'chmod 600 ${path}'.`);
  if (!known) return unknown(`There is no .env.example beside ${path} to compare with.`);
  const strange = names.filter((name) => !known.has(name) && !name.startsWith("COMPOSE_"));
  if (strange.length === 0) return good(`All ${names.length} settings are known.`);
  const told = strange.map((name) => [name, nearestOf(name, [...known])] as const);
  const list = told.map(([name, near]) => (near ? `${name} (did you mean ${near}?)` : name)).join(", ");
  return wrong(`Nothing reads ${list}.`, "Mend or delete them; .env.example lists every setting.");
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

async function checkProxies({ env }: Installation): Promise<Verdict> {
  const text = env["TRUSTED_PROXIES"];
  if (!text) return good("None is trusted: the connection's address counts.");
  const wide = text.split(/[\s,]+/).filter((network) => /\/[0-7]$/.test(network));
  if (wide.length === 0) return good(`Trusted: ${text}.`);
  return wrong(
    `TRUSTED_PROXIES has ${wide.join(", ")}: every client may choose its address.`,
    "Name the proxies alone.",
  );
}
