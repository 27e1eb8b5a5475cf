import { readFile, rm } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { memoryOf } from "@waymark/local/process-usage";
import { heapFileOf, type ProcessName, processNames, type System } from "../system/start-system.js";

const heapLimitMs = 10_000;

/** The memory of each process in MB, as Linux counts it; 0 without /proc. */
export function readMemory({ apps }: System): Map<string, number> {
  return new Map(processNames.map((name) => [name, memoryOf(apps[name].identity.pid).now / 1_000_000]));
}

/**
 * What each process still uses of its heap after it collected all garbage, in MB: unlike its memory, not what V8 keeps for later.
 * @throws Error if a process does not answer within ten seconds
 */
export async function readHeaps({ apps, folder }: System): Promise<Map<ProcessName, number>> {
  const heaps = new Map<ProcessName, number>();
  for (const name of processNames) {
    const file = heapFileOf(folder, name);
    await rm(file, { force: true });
    process.kill(apps[name].identity.pid, "SIGUSR2");
    for (const until = Date.now() + heapLimitMs; !heaps.has(name); await wait(20)) {
      const text = await readFile(file, "utf8").catch(() => "");
      if (text !== "") heaps.set(name, Number(text) / 1_000_000);
      else if (Date.now() > until) throw new Error(`${name} did not tell its heap within 10 s`);
    }
  }
  return heaps;
}
