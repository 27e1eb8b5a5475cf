import { readFileSync } from "node:fs";
import { statFieldsOf } from "./processes.js";

/** The unit of times in /proc: a hundredth of a second on every Linux that Node runs on (proc(5), `sysconf(_SC_CLK_TCK)`). */
const microsPerTick = 10_000;

/** CPU microseconds that a process used so far; 0 where there is no /proc or no such process. */
export function cpuMicrosOf(pid: number): number {
  const [user = 0, system = 0] = timesOf(pid);
  return (user + system) * microsPerTick;
}

/** CPU microseconds of a process, of its children, and of those children that ended. */
export function cpuMicrosOfTree(pid: number): number {
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = timesOf(pid);
  const own = (user + system + endedUser + endedSystem) * microsPerTick;
  return own + childrenOf(pid).reduce((sum, child) => sum + cpuMicrosOf(child), 0);
}

/** Resident memory of a process in bytes, now and at its highest. */
export function memoryOf(pid: number): { now: number; highest: number } {
  const status = read(`/proc/${pid}/status`);
  const bytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024;
  return { now: bytes("VmRSS"), highest: bytes("VmHWM") };
}

/** Fields 14 to 17 of proc(5), `/proc/pid/stat`. */
function timesOf(pid: number): number[] {
  try {
    return statFieldsOf(pid).slice(11, 15).map(Number);
  } catch {
    return [];
  }
}

export function childrenOf(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
