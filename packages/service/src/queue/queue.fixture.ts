import { createUuidV7 } from "@waymark/database";
import type pg from "pg";
import { type Logger, pino } from "pino";
import { z } from "zod";
import { type QueueKind, queues } from "./queues.js";

const uuid = createUuidV7();

/** The payload of `trace-finalized`. */
export type AlertPayload = z.output<typeof queues.traceFinalized.payload>;

/** The table of kinds with a second entry: all that a new kind takes in this package. */
export const twoKinds = {
  ...queues,
  siteImported: {
    name: "site-imported",
    payload: z.object({ siteId: z.guid(), day: z.iso.date() }),
    jobIdOf: ({ siteId, day }: { siteId: string; day: string }) => `${siteId} ${day}`,
  },
} as const satisfies Record<string, QueueKind>;

/** A payload with ids of its own. */
export function makePayload(): AlertPayload {
  return { accountId: uuid(), alertId: uuid() };
}

/** Empties a queue in Postgres that nothing has open, so that no test finds the jobs of an earlier one. */
export async function forgetJobs(pool: pg.Pool): Promise<void> {
  await pool.query("DROP SCHEMA IF EXISTS bullmq CASCADE");
}

/** A log whose lines a test can look at, as `level message`. */
export function createTestLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const write = (line: string) => {
    const { level, msg } = JSON.parse(line) as { level: number; msg: string };
    lines.push(`${pino.levels.labels[level]} ${msg}`);
  };
  return { log: pino({ level: "trace" }, { write }), lines };
}

/** Waits until a condition holds; jest's limit ends what never comes. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}
