/** A command cannot do its work. The message is a sentence for the user. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** The options of a command do not fit together. The exit code is 2, as for a missing option. */
export class UsageError extends CommandError {}
