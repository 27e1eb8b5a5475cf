import type { Writable } from "node:stream";
import { Command, CommanderError } from "commander";
import { addAccountCommands } from "./commands/account.command.js";
import { addAiCommand } from "./commands/ai.command.js";
import { addAlertCommands } from "./commands/alert.command.js";
import { addBackupCommands } from "./commands/backup.command.js";
import { addBotsCommands } from "./commands/bots.command.js";
import { addCellCommands } from "./commands/cell.command.js";
import { addChannelCommands } from "./commands/channel.command.js";
import { addCompletionCommand } from "./commands/completion.command.js";
import { addDoctorCommand } from "./commands/doctor.command.js";
import { addExportCommand } from "./commands/export.command.js";
import { addFunnelCommands } from "./commands/funnel.command.js";
import { addGoalCommands } from "./commands/goal.command.js";
import { addImportCommand } from "./commands/import.command.js";
import { addInitCommand } from "./commands/init.command.js";
import { addKeyCommands } from "./commands/key.command.js";
import { addListingCommands } from "./commands/listing.command.js";
import { addLogsCommand } from "./commands/logs.command.js";
import { addMcpCommand } from "./commands/mcp.command.js";
import { addMigrateCommand } from "./commands/migrate.command.js";
import { addMuteCommands } from "./commands/mute.command.js";
import { addOpenCommand } from "./commands/open.command.js";
import { addRollupCommands } from "./commands/rollup.command.js";
import { addRuleCommands } from "./commands/rule.command.js";
import { addScoreCommands } from "./commands/score.command.js";
import { addSetupCommand } from "./commands/setup.command.js";
import { addSignInLinkCommand } from "./commands/sign-in-link.command.js";
import { addSiteCommands } from "./commands/site.command.js";
import { addStatsCommand } from "./commands/stats.command.js";
import { addTraceCommands } from "./commands/trace.command.js";
import { addUsageCommand } from "./commands/usage.command.js";
import { CommandBuilder } from "./context/command-builder.js";
import type { CommandCall, CommandContext } from "./context/command-context.js";
import { UsageError } from "./context/command-error.js";
import { explainError } from "./context/explain-error.js";
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
    await createProgram(call, args, version).parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander has written its sentence already. Help and version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    await writeLine(context.stderr, explainError(error, undefined, dataFolderOf(context.env)));
    return error instanceof UsageError ? 2 : 1;
  }
  const { outcome, isJson } = call;
  const result = isJson ? toJsonLine(outcome?.value) : outcome?.text;
  if (result) await writeLine(context.stdout, result);
  return outcome?.exitCode ?? 0;
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

function createProgram(call: CommandCall, args: readonly string[], version: string): Command {
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

  const commands = new CommandBuilder<[], object>(program, call);
  addAccountCommands(commands);
  addSignInLinkCommand(commands);
  addKeyCommands(commands);
  addSiteCommands(commands);
  addGoalCommands(commands);
  addFunnelCommands(commands);
  addUsageCommand(commands);
  addStatsCommand(commands);
  addAiCommand(commands);
  addImportCommand(commands);
  addExportCommand(commands);
  addRollupCommands(commands);
  addAlertCommands(commands);
  addChannelCommands(commands);
  addMuteCommands(commands);
  addRuleCommands(commands);
  addTraceCommands(commands);
  addScoreCommands(commands);
  addListingCommands(commands);
  addMcpCommand(commands, version);
  addOpenCommand(commands);
  addInitCommand(commands);
  addSetupCommand(commands);
  addDoctorCommand(commands);
  addLogsCommand(commands);
  addBotsCommands(commands);
  addCellCommands(commands);
  addMigrateCommand(commands);
  addBackupCommands(commands);
  addCompletionCommand(commands, program);
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
