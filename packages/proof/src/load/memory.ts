import { readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { heapFileOf, type ProcessName, processNames, type System } from "../system/start-system.js";

const heapLimitMs = 10_000;

/** The memory of each process in MB, as Linux counts it; without /proc none. */
export function readMemory({ apps }: System): Map<string, number> {
  const memory = new Map<string, number>();
  for (const name of processNames) {
    const megabytes = residentMb(apps[name].identity.pid);
    if (megabytes !== undefined) memory.set(name, megabytes);
  }
  return memory;
}

function residentMb(pid: number): number | undefined {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1_000;
  } catch {
    return undefined;
  }
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
