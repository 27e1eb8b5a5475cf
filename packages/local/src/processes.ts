import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { commandLineOf } from "./platform.js";

/** A process, told apart from a later one with the same id by when it started. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly processStart: string;
}

/** When a process started, as the operating system tells it; undefined where there is none with that id. */
export function processStartOf(pid: number): string | undefined {
  return fieldOf(pid, { stat: 22, ps: "lstart=" });
}

/** Whether exactly this process still runs. */
export function isRunning({ pid, processStart }: ProcessIdentity): boolean {
  return processStartOf(pid) === processStart;
}

/**
 * The commands that this process was started through, such as pnpm, npx and their shells, nearest first. When one of them is
 * gone, nobody is left to stop this process.
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

/** A field of a process: from /proc where there is one (proc(5), `/proc/pid/stat`), else from `ps`. */
function fieldOf(pid: number, field: { stat: number; ps: string }): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses, which may itself hold spaces and parentheses.
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
