import { AppError } from "@waymark/errors";
import { createRefusals, createWorkShares } from "@waymark/service/http";
import type pg from "pg";

export type Work = ReturnType<typeof createWork>;

interface WorkOptions {
  owner: string;
  /** Resolves in a later round of the event loop, when it is the owner's turn. */
  turn(owner: string): Promise<void>;
}

const sliceMs = 4;

/** Some 100 µs, so that the clock is read rarely. */
const stepsPerReading = 20_000;

const timeoutMs = 15_000;

/** Some five seconds of a processor. */
const maxLooked = 2_000_000_000;

/** Work of a request over texts and rows of clients, in slices. Between two all other requests have their turn. */
export function createWork({ owner, turn }: WorkOptions, maxCharacters = maxLooked) {
  const started = performance.now();
  let sliceEnd = started + sliceMs;
  let steps = stepsPerReading;
  let characters = maxCharacters;
  /** Counts steps of some nanoseconds, as rows or characters; whether the slice is over and `rest` comes next. */
  function spend(spent: number): boolean {
    steps -= spent;
    if (steps > 0) return false;
    steps = stepsPerReading;
    return performance.now() >= sliceEnd;
  }
  return {
    spend,
    /** As `spend`, for characters that a filter or goal looks through. @throws AppError 400 above the bound of a request */
    look(looked: number): boolean {
      characters -= looked;
      if (characters < 0) throw tooMuch(maxCharacters);
      return spend(looked);
    },
    /** Waits for the next slice. @throws an error with SQLSTATE 57014 when the request takes longer than 15 s */
    async rest(): Promise<void> {
      await turn(owner);
      const now = performance.now();
      if (now - started > timeoutMs) throw tooLong("The days took too long to add up");
      sliceEnd = now + sliceMs;
    },
  };
}

export function tooLong(message: string): Error {
  return Object.assign(new Error(message), { code: "57014" });
}

function tooMuch(most: number): AppError {
  const reason = `Filters and goals look through at most ${most / 1_000_000} million characters of different texts; ask for fewer days, filters or goals with *`;
  return new AppError("validation_failed", { details: { fields: { filters: reason }, reason } });
}

/** Rows in an order up to a number of them, found in slices. @param compare below 0 where the first one comes first */
export async function firstOf<Row>(
  rows: Iterable<Row>,
  { compare, limit, work }: { compare(one: Row, other: Row): number; limit: number; work: Work },
): Promise<Row[]> {
  const chunk = 200;
  let first: Row[] = [];
  let last: Row | undefined;
  let added = 0;
  const settle = () => {
    first = first.sort(compare).slice(0, limit);
    last = first.length === limit ? first.at(-1) : undefined;
    added = 0;
  };
  for (const row of rows) {
    let steps = 50;
    if (last === undefined || compare(row, last) < 0) {
      first.push(row);
      if (++added === chunk) {
        settle();
        steps = 100 * first.length;
      }
    }
    if (work.spend(steps)) await work.rest();
  }
  settle();
  return first;
}

interface ReadShareOptions {
  pool: pg.Pool;
  registry: Parameters<typeof createRefusals>[0];
  maxWaitingPerAccount?: number;
}

export type ReadShares = ReturnType<typeof createReadShares>;

/** Half of the pool's connections, so an account's slow reads leave some to others, and to keys and pages. */
export function createReadShares({ pool, registry, maxWaitingPerAccount = 8 }: ReadShareOptions) {
  const refusals = createRefusals(registry);
  const maxReading = Math.max(1, Math.floor((pool.options.max ?? 10) / 2));
  const shared = { owner: "account", maxWaiting: 200, maxWaitingPerOwner: maxWaitingPerAccount };
  const reads = {
    ...shared,
    tasks: "reads",
    maxRunning: maxReading,
    // Two, so a slow statement does not delay a quick one.
    maxRunningPerOwner: 2,
    // A read takes milliseconds. After this long, the statements before it run into their timeout.
    maxWaitMs: 3_000,
  };
  const columnReads = {
    ...shared,
    tasks: "filtered_reads",
    // Each holds up to 48 MiB, and two leave one account's days to others.
    maxRunning: Math.min(2, maxReading),
    maxRunningPerOwner: 1,
    // A refused client asks again at once, and reading its request anew costs more than its waiting.
    maxWaitingPerOwner: 100,
    maxWaiting: 1_000,
    // A page asks for several at once, one after the other.
    maxWaitMs: 10_000,
  };
  return {
    read: createWorkShares(reads, refusals).run,
    /** Runs a read of columns, for filters, goals and funnels: it holds much memory for long. */
    readColumns: createWorkShares(columnReads, refusals).run,
  };
}
