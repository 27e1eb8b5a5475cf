import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** The user that a server may run as, when we are root ourselves: Postgres refuses to run as root. */
export interface ServerUser {
  name: string;
  uid: number;
  gid: number;
}

/** How to start a program: the command and, where the user is switched by Node, the ids. */
export interface Launch {
  command: string;
  args: string[];
  uid?: number;
  gid?: number;
}

/** The unprivileged user for Postgres where this process is root; undefined where it is not, and none is needed. */
export function serverUser(): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, name], { stdio: ["ignore", "pipe", "ignore"] }));
      return { name, uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user: the next one.
    }
  }
  throw new Error(
    "Postgres does not run as root, and there is neither a user 'postgres' nor 'nobody'. Run as another user, or set DATABASE_URL.",
  );
}

/**
 * How to run a program as another user. Where that user cannot reach a path (a clone below a folder that only root may
 * enter), the program keeps the one capability that lets it pass through folders.
 * @param paths what the program must reach
 */
export function launchAs(user: ServerUser | undefined, command: string, args: string[], paths: string[]): Launch {
  if (!user) return { command, args };
  if (paths.every((path) => canReach(user, path))) return { command, args, uid: user.uid, gid: user.gid };
  const capability = passThroughCapability();
  if (!capability) {
    throw new Error(
      `The user '${user.name}', whom Postgres runs as, cannot enter ${paths.find((path) => !canReach(user, path))}. Set WAYMARK_DATA_DIR and the clone's place to folders that it can enter, or set DATABASE_URL.`,
    );
  }
  const drop = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  // Without the last, access(2), by which Postgres looks for its own programs, does not count the capability.
  const keep = [`--inh-caps=+${capability}`, `--ambient-caps=+${capability}`, "--securebits=+no_setuid_fixup"];
  return { command: "setpriv", args: [...drop, ...keep, command, ...args] };
}

/** Whether every folder above a path lets the user pass. */
function canReach(user: ServerUser, path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const { mode, uid, gid } = statSync(folder);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** `dac_read_search` where this process has it, else `dac_override` (all that Docker grants), else undefined. */
function passThroughCapability(): string | undefined {
  try {
    const permitted = /^CapPrm:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    execFileSync("setpriv", ["--version"], { stdio: "ignore" });
    if (BigInt(`0x${permitted}`) & 4n) return "dac_read_search";
    if (BigInt(`0x${permitted}`) & 2n) return "dac_override";
  } catch {
    // No /proc or no setpriv: not a Linux that can do this.
  }
  return undefined;
}

/** The command line of a running process, or undefined where there is none with that id. */
export function commandLineOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return undefined;
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    try {
      return execFileSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" }).trim();
    } catch {
      return undefined;
    }
  }
}
