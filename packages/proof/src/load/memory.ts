import { readFileSync } from "node:fs";
import { processNames, type System } from "../system/start-system.js";

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
