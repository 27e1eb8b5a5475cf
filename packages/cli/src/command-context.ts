import type { Readable, Writable } from "node:stream";
import { createPool } from "@waymark/database";
import { createPrisma, type PrismaClient } from "@waymark/database/prisma";
import type pg from "pg";
import { CommandError } from "./command-error.js";
import { explainError } from "./explain-error.js";
import { findDatabase } from "./find-database.js";
import { dataFolderOf } from "./local-system.js";

/** The world that a command sees. */
export interface CommandContext {
  env: NodeJS.ProcessEnv;
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  /** From this call on Ctrl-C and SIGTERM abort the signal instead of ending the process at once; a second one ends it. */
  catchInterrupts(): AbortSignal;
  now(): Date;
}

/** The database that a command works on. */
export interface CommandDatabase {
  pool: pg.Pool;
  prisma: PrismaClient;
}

/** What a command ends with: the value that `--json` prints, and the same for a reader; neither where it wrote its output itself. */
export interface Outcome {
  value?: unknown;
  text?: string;
  /** 0 where not given. */
  exitCode?: number;
}

/** As a shell counts a program that Ctrl-C ended: 128 and the signal's number. */
export const interruptedExitCode = 130;

/** Takes what a command ended with. */
export type Finish = (outcome: Outcome, isJson: boolean) => void;

/** Makes a command's action out of its work: what it returns is printed as text, or with `--json` as JSON. */
export type Act = <Args extends unknown[]>(
  work: (context: CommandContext, ...args: Args) => Promise<Outcome>,
) => (...args: [...Args, ...unknown[]]) => Promise<void>;

/** A statement of a command that runs longer has met a lock that will not go away by waiting. */
const statementTimeoutMs = 120_000;

/**
 * Does some work on the database that the environment or the running local system names.
 * @throws CommandError with a sentence, whatever goes wrong
 */
export async function onDatabase<T>(
  context: CommandContext,
  work: (database: CommandDatabase) => Promise<T>,
): Promise<T> {
  const found = await findDatabase(context.env);
  const pool = createPool({
    connectionString: found.url,
    maxConnections: 4,
    applicationName: "waymark command line",
    statementTimeoutMs,
  });
  const prisma = createPrisma(pool);
  try {
    // The driver's own error says better than Prisma's why there is no connection.
    await pool.query("SELECT 1");
    return await work({ pool, prisma });
  } catch (error) {
    if (context.env["LOG_LEVEL"] === "debug") context.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
    throw new CommandError(explainError(error, found, dataFolderOf(context.env)), { cause: error });
  } finally {
    await prisma.$disconnect();
    await pool.end();
  }
}
