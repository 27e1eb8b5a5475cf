import { setTimeout as wait } from "node:timers/promises";
import type { System } from "../system/start-system.js";
import type { Undo } from "../system/undo.js";
import type { Wire } from "../system/wire.js";

/** Where a fault happens. */
export interface Scene {
  readonly system: System;
  /** By the wires between the clients and the services. */
  readonly url: System["url"];
  readonly clientWires: readonly Wire[];
  /** How long a fault lasts. */
  readonly seconds: number;
  /** A built clone of the version before. */
  readonly before: string | undefined;
  /** Calls a function before the system stops. */
  readonly undo: Undo;
}

export interface Fault {
  readonly name: string;
  readonly what: string;
  /** Whether `--short` tries it. */
  readonly isShort?: true;
  /** Why this machine cannot have the fault, if so. */
  missing?(scene: Scene): string | undefined;
  /** Causes the fault and ends it. */
  run(scene: Scene): Promise<void>;
}

/** Begins something, waits as long as a fault lasts, and ends it also after an error. */
export async function during({ seconds }: Scene, begin: () => unknown, end: () => unknown): Promise<void> {
  try {
    await begin();
    await wait(seconds * 1_000);
  } finally {
    await end();
  }
}

/** Sends a signal to processes; one that just ended has none. */
export function signal(pids: readonly number[], which: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, which);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** Stops processes as long as a fault lasts. */
export function freeze(scene: Scene, findPids: () => readonly number[] | Promise<readonly number[]>): Promise<void> {
  let pids: readonly number[] = [];
  const begin = async () => {
    pids = await findPids();
    signal(pids, "SIGSTOP");
  };
  return during(scene, begin, () => signal(pids, "SIGCONT"));
}
