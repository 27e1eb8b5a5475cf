import type { Writable } from "node:stream";
import { CommanderError } from "commander";
import type { CommandContext, Finish, Outcome } from "./context/command-context.js";
import { UsageError } from "./context/command-error.js";
import { explainError } from "./context/explain-error.js";
import { dataFolderOf } from "./local-system.js";
import { toJsonLine } from "./output/terminal-text.js";
import { createProgram } from "./program.js";

/**
 * Runs one command line, and prints its outcome, or a sentence on standard error.
 * @param args the arguments, without the program's name
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 stopped by the user
 */
export async function runCommandLine(
  context: CommandContext,
  args: readonly string[],
  version: string,
): Promise<number> {
  let outcome: Outcome | undefined;
  let isJson = false;
  const finish: Finish = (result, asJson) => {
    outcome = result;
    isJson = asJson;
  };
  try {
    await createProgram({ context, args, version, finish }).parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has written its sentence already. Help and version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    await writeLine(context.stderr, explainError(error, undefined, dataFolderOf(context.env)));
    return error instanceof UsageError ? 2 : 1;
  }
  const result = isJson ? toJsonLine(outcome?.value) : outcome?.text;
  if (result) await writeLine(context.stdout, result);
  return outcome?.exitCode ?? 0;
}

/** Writes a line and waits until it is out, or the reader has left. */
function writeLine(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));
}
