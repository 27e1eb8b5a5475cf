import { lookup } from "node:dns/promises";
import { readdir, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { nearestOf } from "@waymark/service/http";
import { Redis } from "ioredis";
import { formatBytes, formatDuration } from "../output/terminal-text.js";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import { databaseChecks } from "./database-checks.query.js";
import type { Installation } from "./installation.js";

const timeoutMs = 3_000;
const leastCertificateDays = 14;
const maxBackupHours = 26;
const leastPasswordLength = 12;
const dayMs = 86_400_000;

const parts = ["TRACE_API", "ANALYTICS_API", "COLLECTOR", "DASHBOARD"] as const;

/** What an operator's doctor looks at, in this order. */
export const installationChecks: readonly Check<Installation>[] = [
  ...databaseChecks,
  { name: "Redis", look: checkRedis },
  ...parts.map((part) => ({
    name: nameOf(part),
    look: (installation: Installation) => checkAddress(part, installation),
  })),
  { name: "backup", look: checkBackup },
  { name: "settings", look: checkSettings },
  { name: "passwords", look: checkPasswords },
  { name: "mail", look: checkMail },
  { name: "proxies", look: checkProxies },
];

function nameOf(part: (typeof parts)[number]): string {
  return part.toLowerCase().replace("_api", " API");
}

async function checkRedis({ env }: Installation): Promise<Verdict> {
  const url = env["REDIS_URL"];
  if (!url) return good("Not used: the database keeps jobs, and each process its own counts.");
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
  });
  let problem = "";
  redis.on("error", (error) => {
    problem = error.message;
  });
  const about = await redis
    .connect()
    .then(() => redis.info())
    .catch((error: Error) => {
      problem = problem || error.message;
      return undefined;
    });
  redis.disconnect();
  if (about === undefined)
    return wrong(`It gives no answer: ${problem}.`, "Start it, or look at REDIS_URL. Without it alerts come later.");
  const told = new Map(about.split("\r\n").map((line) => line.split(":", 2) as [string, string]));
  const policy = told.get("maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction")
    return wrong(`It drops jobs when its memory is full (${policy}).`, "Set maxmemory-policy noeviction.");
  if (told.get("cluster_enabled") === "1")
    return wrong("It is a cluster, which keeps a queue's keys apart.", "Use one server with replicas, or none.");
  return good(`Redis ${told.get("redis_version") ?? ""} answers, and drops no jobs.`);
}

async function checkAddress(part: (typeof parts)[number], { env, now }: Installation): Promise<Verdict> {
  const [domain, address] = [env[`${part}_DOMAIN`], env[`${part}_URL`]];
  const setting = domain ? `${part}_DOMAIN` : `${part}_URL`;
  if (!domain && !address) return unknown(`Neither ${part}_DOMAIN nor ${part}_URL says where it is.`);
  const text = domain ? `https://${domain}` : String(address);
  if (!URL.canParse(text)) return wrong(`${setting} is no address.`, "Write it as https://traces.example.com.");
  const url = new URL(text);
  if (url.pathname !== "/")
    return wrong(`${setting} has a path: ${url.pathname}.`, "Each service needs its own domain.");
  const found = await lookup(url.hostname).catch(() => undefined);
  if (!found) return wrong(`No address is known for ${url.hostname}.`, "Add a DNS record that leads to the proxy.");
  if (url.protocol === "http:" && !isLocal(url.hostname))
    return wrong(
      `${url.origin} is not encrypted: whoever is between reads keys.`,
      "Put a proxy with TLS in front of it.",
    );
  const days = url.protocol === "https:" ? await certificateDays(url, now()) : undefined;
  if (typeof days === "string")
    return wrong(`${url.host}: ${days}.`, "Look at the proxy's log, and at ports 80 and 443.");
  if (days !== undefined && days < leastCertificateDays)
    return wrong(
      `The certificate of ${url.hostname} ends in ${Math.floor(days)} days.`,
      "Look why the proxy does not renew it.",
    );
  const status = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(timeoutMs) }).then(
    (response) => response.status,
    (error: Error) => (error.cause instanceof Error ? error.cause : error).message,
  );
  // Within a container `localhost` is the container.
  if (typeof status === "string" && isLocal(url.hostname))
    return unknown(`${url.origin} does not answer here: ${status}.`);
  if (typeof status === "string")
    return wrong(`${url.host} gives no answer: ${status}.`, "Start it, or look at its proxy.");
  if (status >= 500) return wrong(`${url.host} answers ${status}.`, "Look at its log.");
  return good(
    `${url.origin} answers${days === undefined ? "" : `, its certificate for ${Math.floor(days)} more days`}.`,
  );
}

function isLocal(host: string): boolean {
  return (
    /^(localhost|.*\.localhost|127\..*|10\..*|192\.168\..*|\[::1\])$/.test(host) || !(host.includes(".") || isIP(host))
  );
}

/** How long the certificate still counts, or why there is none. */
function certificateDays(url: URL, now: Date): Promise<number | string> {
  return new Promise((resolve) => {
    const port = Number(url.port || 443);
    const socket = connectTls({
      host: url.hostname,
      port,
      servername: isIP(url.hostname) ? "" : url.hostname,
      timeout: timeoutMs,
    });
    const end = (result: number | string) => {
      socket.destroy();
      resolve(result);
    };
    socket.once("secureConnect", () => end((Date.parse(socket.getPeerCertificate().valid_to) - now.getTime()) / dayMs));
    socket.once("timeout", () => end("no answer in time"));
    socket.once("error", (error) => end(error.message));
  });
}

async function checkBackup({ backups, now }: Installation): Promise<Verdict> {
  if (backups === undefined) return unknown("--backups FOLDER looks at the newest file there.");
  const names = await readdir(backups).catch(() => undefined);
  if (!names) return wrong(`The folder ${backups} cannot be read.`, "Name the folder of 'waymark backup' or pg_dump.");
  const files = await Promise.all(names.map(async (name) => ({ name, ...(await stat(join(backups, name))) })));
  const [newest] = files.filter(({ size }) => size > 0).sort((a, b) => b.mtimeMs - a.mtimeMs);
  if (!newest)
    return wrong(`${backups} has no backup.`, "Run 'waymark backup FILE' by a timer, and keep it on another machine.");
  const age = now().getTime() - newest.mtimeMs;
  const says = `${newest.name} (${formatBytes(newest.size)}) is ${formatDuration(age * 1_000)} old.`;
  return age <= maxBackupHours * 3_600_000 ? good(says) : wrong(says, "Look at the timer that runs 'waymark backup'.");
}

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
  if (weak.length > 0) return wrong(`${weak.join(", ")} has fewer than ${leastPasswordLength} characters.`, cure);
  const twins = named.filter((name) => named.some((other) => other !== name && env[other] === env[name]));
  if (twins.length > 0) return wrong(`${twins.join(", ")} have the same password.`, cure);
  return named.length === 0 ? unknown("The file has no passwords.") : good(`${named.length} passwords, no two alike.`);
}

async function checkMail({ env, settings }: Installation): Promise<Verdict> {
  const [key, from] = [env["RESEND_API_KEY"], env["ALERT_FROM"]];
  if (key && from) return good(`Resend sends mails from ${from}.`);
  if (!settings && !key && !from) return noFile;
  if (key || from)
    return wrong(
      `${key ? "ALERT_FROM" : "RESEND_API_KEY"} is missing: mails are files.`,
      "Set both, and send a test: 'waymark channel test'.",
    );
  return wrong("Mails are files: nobody is told of a failure.", "Set RESEND_API_KEY and ALERT_FROM.");
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
