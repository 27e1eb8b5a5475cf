import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { commandLineOf } from "./platform.js";

/** A process. Its start tells it apart from a later process with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly processStart: string;
}

/** The start of a process in the operating system's own format; undefined if no process has the id. */
export function processStartOf(pid: number): string | undefined {
  return fieldOf(pid, { stat: 22, ps: "lstart=" });
}

/** Whether exactly this process still runs. */
export function isRunning({ pid, processStart }: ProcessIdentity): boolean {
  return processStartOf(pid) === processStart;
}

/**
 * The commands above a process, such as pnpm, npx and their shells, nearest first. After the end of one of them nobody is left
 * to stop the process.
 */
export function launchersOf(pid: number): ProcessIdentity[] {
  const launchers: ProcessIdentity[] = [];
  for (let current = parentOf(pid); current > 1; current = parentOf(current)) {
    const processStart = processStartOf(current);
    if (!processStart || !/\b(pnpm|npm|npx|start\.mjs|dev\.mjs)\b/.test(commandLineOf(current) ?? "")) break;
    launchers.push({ pid: current, processStart });
  }
  return launchers;
}

function parentOf(pid: number): number {
  return Number(fieldOf(pid, { stat: 4, ps: "ppid=" }) ?? 0);
}

/** A field of a process, from /proc (proc(5), `/proc/pid/stat`) or, without /proc, from `ps`. */
function fieldOf(pid: number, field: { stat: number; ps: string }): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses; the name may hold spaces and parentheses too.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[field.stat - 3];
  } catch (error) {
    if (process.platform === "linux" && isGone(error)) return undefined;
  }
  try {
    const args = ["-p", String(pid), "-o", field.ps];
    return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() || undefined;
  } catch {
    return undefined;
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "");
}
