import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readBackupAge } from "@waymark/database";
import { Redis } from "ioredis";
import { formatBytes, formatDuration } from "../output/terminal-text.js";
import { addressChecks } from "./address-checks.js";
import { type Check, good, unknown, type Verdict, wrong } from "./check.js";
import { databaseChecks } from "./database-checks.query.js";
import type { Installation } from "./installation.js";
import { settingsChecks } from "./settings-checks.js";

const redisTimeoutMs = 3_000;
const maxBackupHours = 26;

/** What an operator's doctor looks at, in this order. */
export const installationChecks: readonly Check<Installation>[] = [
  ...databaseChecks,
  { name: "Redis", look: checkRedis },
  ...addressChecks,
  { name: "backup", look: checkBackup },
  ...settingsChecks,
];

async function checkRedis({ env }: Installation): Promise<Verdict> {
  const url = env["REDIS_URL"];
  if (!url) return good("Not used: the database keeps jobs, and each process its own counts.");
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: redisTimeoutMs,
    commandTimeout: redisTimeoutMs,
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
  if (told.get("aof_enabled") === "0")
    return wrong(
      "It keeps no log of its writes: a crash loses queued jobs, and alerts come later.",
      "Set appendonly yes.",
    );
  return good(`Redis ${told.get("redis_version") ?? ""} answers, and keeps jobs.`);
}

const timer = "Look at the timer that runs 'waymark backup'.";

async function checkBackup({ backups, database, now }: Installation): Promise<Verdict> {
  if (backups === undefined) return checkRecord(database);
  const names = await readdir(backups).catch(() => undefined);
  if (!names) return wrong(`The folder ${backups} cannot be read.`, "Name the folder of 'waymark backup' or pg_dump.");
  const files = await Promise.all(names.map(async (name) => ({ name, ...(await stat(join(backups, name))) })));
  const [newest] = files.filter(({ size }) => size > 0).sort((a, b) => b.mtimeMs - a.mtimeMs);
  if (!newest)
    return wrong(`${backups} has no backup.`, "Run 'waymark backup --into FOLDER' by a timer, and copy it elsewhere.");
  const age = now().getTime() - newest.mtimeMs;
  const says = `${newest.name} (${formatBytes(newest.size)}) is ${formatDuration(age * 1_000)} old.`;
  return age <= maxBackupHours * 3_600_000 ? good(says) : wrong(says, timer);
}

/** By what the database remembers: a folder may be on another machine. */
async function checkRecord(database: Installation["database"]): Promise<Verdict> {
  if (typeof database === "string") return unknown("The database gives no answer. --backups FOLDER looks at files.");
  const found = await readBackupAge(database).catch(() => undefined);
  if (!found) return unknown("The database has no record of backups yet: run 'waymark migrate'.");
  const { seconds, isRecorded, verifiedSeconds } = found;
  const age = ageOf(seconds);
  const verified = verifiedSeconds === null ? "none was verified" : `one was verified ${ageOf(verifiedSeconds)} ago`;
  const says = isRecorded ? `The last one is ${age} old; ${verified}.` : `None in the ${age} of this database.`;
  if (seconds > maxBackupHours * 3_600)
    return wrong(says, isRecorded ? timer : "Run 'waymark backup --into FOLDER' by a timer.");
  return isRecorded ? good(says) : unknown(says);
}

const ageOf = (seconds: number) => formatDuration(seconds * 1_000_000);
