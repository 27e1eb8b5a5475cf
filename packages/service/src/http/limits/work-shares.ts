import { AppError } from "@waymark/errors";
import type { Refusals } from "./shares.js";

/** Shares a scarce resource, so one owner's slow tasks leave room to all others. */
export interface WorkShares {
  /** Does a task in the owner's turn, unless the client has left. @throws AppError 429 or 503 when busy */
  run<Result>(owner: string, task: () => Promise<Result>, isLeft?: () => boolean): Promise<Result>;
}

export interface WorkShareLimits {
  /** The name in the metric and in sentences for clients, such as `reads`. */
  tasks: string;
  /** Whose shares: `account` or `network`. */
  owner: string;
  maxRunning: number;
  maxRunningPerOwner: number;
  maxWaiting: number;
  maxWaitingPerOwner: number;
  maxWaitMs: number;
}

interface Owner {
  running: number;
  /** They start a task each. */
  readonly waiting: (() => void)[];
}

function createBusyErrors({ tasks, owner, maxWaitMs, ...most }: WorkShareLimits, refusals: Refusals) {
  const an = owner === "account" ? "An" : "A";
  const eachWaits = `each for at most ${maxWaitMs / 1_000} s`;
  const ofOwner = `${most.maxRunningPerOwner} ${tasks} under way and ${most.maxWaitingPerOwner} waiting`;
  const ofAll = `${most.maxRunning} ${tasks} are under way and ${most.maxWaiting} waiting`;
  return {
    ownerBusy: () => refusals.account(`${owner}_${tasks}`, `${an} ${owner} has at most ${ofOwner}, ${eachWaits}`),
    allBusy: () => refusals.service(tasks, `At most ${ofAll}, ${eachWaits}`),
  };
}

function queueUp(queue: Owner["waiting"], maxWaitMs: number, giveUp: () => Error): Promise<void> {
  return new Promise((resolve, reject) => {
    const start = () => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      queue.splice(queue.indexOf(start), 1);
      reject(giveUp());
    }, maxWaitMs);
    queue.push(start);
  });
}

/** Creates the shares of one resource. Memory grows only with owners of tasks. */
export function createWorkShares(limits: WorkShareLimits, refusals: Refusals): WorkShares {
  const { maxRunning, maxRunningPerOwner, maxWaiting, maxWaitingPerOwner, maxWaitMs } = limits;
  // In the order of turns.
  const owners = new Map<string, Owner>();
  let running = 0;
  let waiting = 0;
  const { ownerBusy, allBusy } = createBusyErrors(limits, refusals);

  function begin(id: string, owner: Owner): void {
    running++;
    owner.running++;
    owners.delete(id);
    owners.set(id, owner);
  }

  /** Owners without a running task go first; among equals, the owner whose last turn is the longest ago. */
  function startNext(): void {
    for (let level = 0; level < maxRunningPerOwner; level++) {
      for (const [id, owner] of owners) {
        if (running >= maxRunning) return;
        const start = owner.running === level ? owner.waiting.shift() : undefined;
        if (!start) continue;
        waiting--;
        begin(id, owner);
        start();
      }
    }
  }

  function waitForTurn(id: string, owner: Owner): Promise<void> {
    owners.set(id, owner);
    waiting++;
    return queueUp(owner.waiting, maxWaitMs, () => {
      waiting--;
      forgetIdle(id, owner);
      return owner.running >= maxRunningPerOwner ? ownerBusy() : allBusy();
    });
  }

  function forgetIdle(id: string, owner: Owner): void {
    if (owner.running === 0 && owner.waiting.length === 0) owners.delete(id);
  }

  return {
    async run(id, task, isLeft = () => false) {
      const owner = owners.get(id) ?? { running: 0, waiting: [] };
      if (running < maxRunning && owner.running < maxRunningPerOwner) begin(id, owner);
      else {
        if (owner.waiting.length >= maxWaitingPerOwner) throw ownerBusy();
        if (waiting >= maxWaiting) throw allBusy();
        await waitForTurn(id, owner);
      }
      try {
        if (isLeft()) throw new AppError("busy");
        return await task();
      } finally {
        running--;
        owner.running--;
        startNext();
        forgetIdle(id, owner);
      }
    },
  };
}

export type Turn = (owner: string) => Promise<void>;

/**
 * Gives turns to work that blocks the event loop, such as parsing a large body: one turn in each round of the loop, so that
 * small requests run in between, and to owners in rotation. The number of requests in progress bounds the queue.
 */
export function createTurns(): Turn {
  const waiting = new Map<string, (() => void)[]>();
  const next = () => {
    for (const [owner, others] of waiting) {
      const [go, ...rest] = others;
      // The owner's next turn comes after those of all other owners.
      waiting.delete(owner);
      if (rest.length > 0) waiting.set(owner, rest);
      if (waiting.size > 0) setImmediate(next);
      go?.();
      return;
    }
  };
  return (owner) =>
    new Promise((resolve) => {
      if (waiting.size === 0) setImmediate(next);
      const own = waiting.get(owner);
      if (own) own.push(resolve);
      else waiting.set(owner, [resolve]);
    });
}

/** What all generators take together of one round of the event loop, unless a single step takes longer. */
const roundMs = 4;
/** What one takes before the others have their turns. */
const sliceMs = 1;

type Slice = () => void;

/** Generators that have not begun, and others. */
const fresh: Slice[] = [];
const begun: Slice[] = [];
let spentMs = 0;
let isRoundPlanned = false;

function planRound(): void {
  if (!isRoundPlanned) setImmediate(runRound);
  isRoundPlanned = true;
}

function runRound(): void {
  isRoundPlanned = false;
  spentMs = 0;
  while (fresh.length + begun.length > 0) {
    planRound();
    if (spentMs >= roundMs) return;
    fresh.shift()?.();
    begun.shift()?.();
  }
}

/**
 * Runs a generator to its end, in rotation with all others, so that requests run in between. A short one ends at once or, in a
 * busy round, before those that have begun get half of the next one. The number of requests in progress bounds the queues.
 * @param steps yields between steps of some tenths of a millisecond
 */
export function inSteps<Result>(steps: Generator<void, Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    let isLong = false;
    const slice = () => {
      const began = performance.now();
      try {
        let step = steps.next();
        while (!step.done && performance.now() - began < sliceMs) step = steps.next();
        if (step.done) resolve(step.value);
        else begun.push(slice);
        // What follows a long one runs at the end of the round.
        spentMs = step.done && isLong ? roundMs : spentMs + performance.now() - began;
        isLong = true;
      } catch (error) {
        reject(error);
      }
    };
    planRound();
    if (spentMs >= roundMs) fresh.push(slice);
    else slice();
  });
}
