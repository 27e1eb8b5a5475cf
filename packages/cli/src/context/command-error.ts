/** A command cannot do its work. The message is a sentence for the user. */
export class CommandError extends Error {
  override name = "CommandError";
}
