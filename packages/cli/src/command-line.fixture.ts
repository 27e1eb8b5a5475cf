import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { dirname } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { directUrlOf } from "@waymark/testing";
import { runCommandLine } from "./program.js";

const bin = fileURLToPath(new URL("../bin/waymark.mjs", import.meta.url));

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs command lines in an environment, and where one is given at a time, of their own. */
export function createCommandLine(given: NodeJS.ProcessEnv, now = () => new Date()) {
  const { DATABASE_URL: url } = given;
  const env = { ...given, ...(url && { DIRECT_DATABASE_URL: directUrlOf(url) }) };
  /** In this process, which spares the half second that a new one takes to load. */
  async function run(args: readonly string[], input: string | Buffer = ""): Promise<CommandResult> {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const read = Promise.all([text(stdout), text(stderr)]);
    const context = {
      env,
      stdin: Readable.from([Buffer.from(input)]),
      stdout,
      stderr,
      catchInterrupts: () => new AbortController().signal,
      now,
    };
    const code = await runCommandLine(context, args, "1.2.3");
    stdout.end();
    stderr.end();
    const [out, err] = await read;
    return { code, stdout: out, stderr: err };
  }

  /** Runs a command that must succeed, and parses what it prints. */
  async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await run([...args, "--json"]);
    if (code !== 0) throw new Error(`waymark ${args.join(" ")} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  return { run, json, start: (args: readonly string[]) => startBuilt(args, env) };
}

/** Starts the built command, as a user does. */
function startBuilt(args: readonly string[], env: NodeJS.ProcessEnv) {
  // The command builds itself after a change of its sources, which takes programs of the system.
  const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;
  const child = spawn(process.execPath, [bin, ...args], { env: { PATH: path, ...env }, cwd: "/" });
  child.stdin.on("error", () => undefined);
  return { child, result: resultOf(child) };
}

async function resultOf(child: ChildProcessWithoutNullStreams): Promise<CommandResult> {
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
}
