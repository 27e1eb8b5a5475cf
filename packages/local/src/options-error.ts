/** What was told cannot be done; the message is for the person who said it, with a line for each mistake. */
export class OptionsError extends Error {
  override name = "OptionsError";

  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}
