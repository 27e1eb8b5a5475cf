import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** A process. Its start tells it apart from a later process with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly processStart: string;
}

/** The start of a process in the operating system's own format; undefined if no process has the id. */
export function processStartOf(pid: number): string | undefined {
  return factOf(pid, "lstart=", () => statFieldsOf(pid)[19]);
}

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
  return Number(factOf(pid, "ppid=", () => statFieldsOf(pid)[1]) ?? 0);
}

export function commandLineOf(pid: number): string | undefined {
  return factOf(pid, "command=", () => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim());
}

/** The fields of proc(5), `/proc/pid/stat`, from the third on. @throws Error without /proc or such a process */
export function statFieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the program's name in parentheses; the name may hold spaces and parentheses too.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** A fact about a process from /proc or, without /proc, from `ps`; undefined if no process has the id. */
function factOf(pid: number, psField: string, readProc: () => string | undefined): string | undefined {
  try {
    return readProc();
  } catch (error) {
    const isGone = ["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "");
    if (process.platform === "linux" && isGone) return undefined;
  }
  try {
    const args = ["-p", String(pid), "-o", psField];
    return execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() || undefined;
  } catch {
    return undefined;
  }
}
