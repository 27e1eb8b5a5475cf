import type { Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { commands } from "./commands/commands.js";
import { CommandBuilder } from "./context/command-builder.js";
import type { CommandCall, CommandContext } from "./context/command-context.js";
import { CommandError, UsageError } from "./context/command-error.js";
import { dataFolderOf } from "./local-system.js";
import { toJsonLine } from "./output/terminal-text.js";

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
  const call: CommandCall = { context };
  try {
    await (await createProgram(call, args, version)).parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has written its sentence already. Help and version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    await writeLine(context.stderr, error instanceof CommandError ? error.message : await explain(error, context.env));
    return error instanceof UsageError ? 2 : 1;
  }
  const { outcome, isJson } = call;
  const result = isJson ? toJsonLine(outcome?.value) : outcome?.text;
  if (result) await writeLine(context.stdout, result);
  return outcome?.exitCode ?? 0;
}

/** Explaining knows the errors of every package. */
async function explain(error: unknown, env: NodeJS.ProcessEnv): Promise<string> {
  const { explainError } = await import("./context/explain-error.js");
  return explainError(error, undefined, dataFolderOf(env));
}

/** Writes a line and waits until it is out, or the reader has left. */
function writeLine(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(`${text}\n`, () => resolve()));
}

const about = `Manage Waymark. A command with --account or --site uses the database of DATABASE_URL, or of the running local system
without it. Reading commands without one ask the APIs, by the keys WAYMARK_TRACE_KEY and WAYMARK_STATS_KEY.`;

const examples = `
Examples:
  $ waymark account create --email me@example.com --plan pro
  $ waymark key create --account me@example.com --service trace --name laptop
  $ waymark site create --account me@example.com --domain example.com --name "My site"
  $ waymark import --site example.com --file visits.ndjson
  $ waymark usage --account me@example.com --json
  $ waymark trace list --status error --from 2h

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
With --json standard output has one JSON object or array ('trace tail': one object a line). A failed command prints nothing
there and a sentence on standard error.`;

async function createProgram(call: CommandCall, args: readonly string[], version: string): Promise<Command> {
  const { stdout, stderr } = call.context;
  const program = new Command("waymark");
  program
    .description(about)
    .version(version, "--version", "show the version")
    .option("--json", "print the result as JSON, for scripts")
    .helpOption("-h, --help", "show how a command is used")
    .helpCommand("help [command]", "show how a command is used")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      outputError: (text, write) => write(`${toSentence(text)}\n`),
    })
    .showHelpAfterError("Add --help to see how it is used.")
    .addHelpText("after", examples)
    .exitOverride();

  const words = args.filter((arg) => !arg.startsWith("-"));
  const called = words[0] === "help" ? words[1] : words[0];
  for (const [name, [about, load]] of Object.entries(commands)) {
    const command = program.command(name).description(about);
    // A completion has the words of every command.
    if (name !== called && called !== "completion") continue;
    const { declareCommand } = await load();
    declareCommand(new CommandBuilder(command, call), { program, version });
  }
  for (const group of program.commands)
    for (const command of [group, ...group.commands]) nameUnknownOptions(command, args);
  return program;
}

/** Commander reports a mistyped required option as missing; this also names the mistyped one. */
function nameUnknownOptions(command: Command, args: readonly string[]): void {
  const known = new Set(["--help", "--json", "--version", ...command.options.map((option) => option.long)]);
  const unknown = args.filter((arg) => /^--[a-z]/.test(arg) && !known.has(arg.replace(/=.*/s, "")));
  command.configureOutput({
    outputError: (text, write) => {
      const first = text.includes("required option") ? unknown.map((arg) => `Unknown option '${arg}'. `).join("") : "";
      write(`${first}${toSentence(text)}\n`);
    },
  });
}

/** Commander's `error: unknown command 'acount'` and its `(Did you mean account?)` as sentences. */
function toSentence(text: string): string {
  const lines = text
    .trim()
    .replace(/^error: /, "")
    .split("\n");
  const sentences = lines.map((line) => line.replace(/^\((.*)\)$/, "$1").trim()).filter((line) => line !== "");
  return sentences
    .map((line) => `${line.charAt(0).toUpperCase()}${line.slice(1)}${/[.?!]$/.test(line) ? "" : "."}`)
    .join(" ");
}
