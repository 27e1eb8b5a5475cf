/** Wrong arguments or variables. The message has a line for each mistake, for the person at the terminal. */
export class OptionsError extends Error {
  override name = "OptionsError";

  constructor(readonly problems: readonly string[]) {
    super(problems.join("\n"));
  }
}
