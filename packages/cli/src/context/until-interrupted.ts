import type { CommandContext } from "./command-context.js";

/**
 * Does some work until Ctrl-C. An error after Ctrl-C counts as its effect.
 * @param display taken off the screen when the work ends, however it ends
 * @returns whether the work was done before an interrupt
 */
export async function untilInterrupted(
  context: CommandContext,
  display: { close(): void },
  work: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const signal = context.catchInterrupts();
  try {
    await work(signal);
    return !signal.aborted;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  } finally {
    display.close();
  }
}
