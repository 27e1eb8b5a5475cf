import { setTimeout as wait } from "node:timers/promises";
import type { Stage } from "../load/stage.js";
import type { Wire } from "../system/wire.js";

/** Where a fault happens. */
export interface Scene extends Stage {
  /** Between the clients and each service with requests. */
  readonly clientWires: readonly Wire[];
  /** How long a fault lasts. */
  readonly seconds: number;
  /** A built clone of the version before. */
  readonly before: string | undefined;
  /** Calls a function before the system stops. */
  atEnd(step: () => Promise<unknown>): void;
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
