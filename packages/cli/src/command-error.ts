/** What was asked for cannot be done; the message is a sentence for the person who asked. */
export class CommandError extends Error {
  override name = "CommandError";
}
