import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** An unprivileged user for servers: Postgres refuses to run as root. */
export type ServerUser = NonNullable<ReturnType<typeof serverUser>>;

/** The user for Postgres if this process is root; undefined otherwise: Postgres then runs as the same user. */
export function serverUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) => Number(execFileSync("id", [flag, name], { stdio: ["ignore", "pipe", "ignore"] }));
      return { name, uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user; try the next one.
    }
  }
  throw new Error(
    "Postgres does not run as root, and there is neither a user 'postgres' nor 'nobody'. Run as another user, or set DATABASE_URL.",
  );
}

/**
 * The command to run a program as another user. If that user cannot reach a path (such as a clone below root's home), the program
 * keeps one capability, to pass through folders.
 * @param paths files and folders for the program to reach
 * @throws Error with a sentence for the user if this process cannot grant the capability
 */
export function launchAs(user: ServerUser | undefined, command: string, args: string[], paths: string[]) {
  if (!user) return { command, args };
  if (paths.every((path) => canReach(user, path))) return { command, args, uid: user.uid, gid: user.gid };
  const capability = passThroughCapability();
  if (!capability) {
    throw new Error(
      `The user '${user.name}', whom Postgres runs as, cannot enter ${paths.find((path) => !canReach(user, path))}. Set WAYMARK_DATA_DIR and the clone's place to folders that it can enter, or set DATABASE_URL.`,
    );
  }
  const drop = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  // Postgres finds its own programs by access(2), and access(2) ignores the capability without the last flag.
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

/** `dac_read_search` if this process has it, else `dac_override` (Docker grants only this), else undefined. */
function passThroughCapability(): string | undefined {
  try {
    const permitted = /^CapPrm:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
    execFileSync("setpriv", ["--version"], { stdio: "ignore" });
    if (BigInt(`0x${permitted}`) & 4n) return "dac_read_search";
    if (BigInt(`0x${permitted}`) & 2n) return "dac_override";
  } catch {
    // A system without /proc or setpriv has no capabilities for us.
  }
  return undefined;
}
