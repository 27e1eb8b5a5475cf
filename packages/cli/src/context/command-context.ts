import type { ResolverOptions } from "node:dns";
import type { Readable, Writable } from "node:stream";
import type { MigrateOptions, RolePasswords } from "@waymark/database";
import type { PrismaClient } from "@waymark/database/prisma";
import type { NameResolver } from "@waymark/web-stats/analytics";
import type pg from "pg";
import { dataFolderOf, findDatabase } from "../local-system.js";
import { showStatus } from "../output/progress.js";
import { CommandError } from "./command-error.js";

/** Everything that a command reads and writes of its process. */
export interface CommandContext {
  env: NodeJS.ProcessEnv;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  /** From this call on, Ctrl-C and SIGTERM abort the signal; a second one ends the process. */
  catchInterrupts(): AbortSignal;
  now(): Date;
  /** Looks up the names of addresses; nothing without it. */
  createResolver?: ((options: ResolverOptions) => NameResolver) | undefined;
}

export interface CommandDatabase {
  pool: pg.Pool;
  prisma: PrismaClient;
}

/** The result of a command: a value for `--json` and the same as text. A command that wrote its own output has neither. */
export interface Outcome {
  value?: unknown;
  text?: string;
  exitCode?: number;
}

/** A shell's code for a program that SIGINT ended: 128 and the signal's number. */
export const interruptedExitCode = 130;

/** A call of the command line; its command leaves the outcome here. */
export interface CommandCall {
  readonly context: CommandContext;
  outcome?: Outcome;
  isJson?: boolean;
}

/** A statement beyond this waits for a lock that waiting will not free. */
const defaultTimeoutMs = 120_000;

/**
 * Does some work on the database of the environment or of the running local system.
 * @param statementTimeoutMs 0 for statements whose time grows with the data
 * @throws CommandError with a sentence for every failure
 */
export async function onDatabase<T>(
  context: CommandContext,
  work: (database: CommandDatabase) => Promise<T>,
  statementTimeoutMs = defaultTimeoutMs,
): Promise<T> {
  const found = await findDatabase(context.env);
  const options = {
    connectionString: found.url,
    maxConnections: 4,
    applicationName: "waymark command line",
    statementTimeoutMs,
  };
  const { checkPooling, createPool } = await import("@waymark/database");
  const { createPrisma } = await import("@waymark/database/prisma");
  const pool = createPool(options);
  let prisma: PrismaClient | undefined;
  const database = {
    pool,
    // Imports do without it, and without its memory.
    get prisma() {
      prisma ??= createPrisma(pool);
      return prisma;
    },
  };
  try {
    // The driver explains a failed connection better than Prisma does.
    await pool.query("SELECT 1");
    if (found.from === "environment") await checkPooling(options);
    return await work(database);
  } catch (error) {
    if (context.env["LOG_LEVEL"] === "debug") context.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    const { explainError } = await import("./explain-error.js");
    throw new CommandError(explainError(error, found, dataFolderOf(context.env)), { cause: error });
  } finally {
    await prisma?.$disconnect();
    await pool.end();
  }
}

/**
 * Does some work until Ctrl-C. An error after Ctrl-C counts as its effect.
 * @param display taken off the screen when the work ends, however it ends
 * @returns whether the work was done before an interrupt, and its result where it came to one
 */
export async function untilInterrupted<T>(
  context: CommandContext,
  display: { close(): void },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ isComplete: boolean; result?: T }> {
  const signal = context.catchInterrupts();
  try {
    const result = await work(signal);
    return { isComplete: !signal.aborted, result };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { isComplete: false };
  } finally {
    display.close();
  }
}

/** Does some work until Ctrl-C, and shows what it says as one line that changes. */
export function withStatus<T>(
  context: CommandContext,
  work: (say: (text: string) => void, signal: AbortSignal) => Promise<T>,
) {
  const status = showStatus(context.stderr);
  return untilInterrupted(context, status, (signal) => work(status.update, signal));
}

/**
 * Brings a database to this version: our tables, those of the queue, and the services' roles if they have passwords.
 * A newer database keeps its tables and rights, since newer services may be running.
 * @param url of the owner of the tables
 * @param options of the migrations
 * @returns the names of the migrations applied, and the newest one of a newer database
 */
export async function prepareDatabase(
  url: string,
  passwords: RolePasswords | undefined,
  options: Pick<MigrateOptions, "refusesQuietHour" | "say"> = {},
): Promise<{ applied: string[]; newer: string | undefined }> {
  let newer: string | undefined;
  const meetNewer = (migration: string) => {
    newer = migration;
  };
  const { grantRoles, migrate } = await import("@waymark/database");
  const applied = await migrate(url, { ...options, meetNewer });
  if (newer) return { applied, newer };
  // BullMQ takes longer to load than other commands take to run.
  const { migrateQueues } = await import("@waymark/service/queue");
  await migrateQueues(url);
  if (passwords) await grantRoles(url, passwords);
  return { applied, newer };
}
