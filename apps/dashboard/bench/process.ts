import { readFileSync } from "node:fs";

/** /proc counts in hundredths of a second (proc(5)). */
const msPerTick = 10;

/** Processor milliseconds of a process and its children, those that ended included; undefined without /proc. */
export function cpuMsOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const own = fields.slice(11, 15).reduce((sum, field) => sum + Number(field) * msPerTick, 0);
  const children = read(`/proc/${pid}/task/${pid}/children`)?.split(" ").filter(Boolean) ?? [];
  return children.reduce((sum, child) => sum + (cpuMsOf(Number(child)) ?? 0), own);
}

/** Resident memory in bytes; undefined without /proc. */
export function memoryOf(pid: number): number | undefined {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`) ?? "") ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
