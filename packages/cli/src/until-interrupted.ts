import type { CommandContext } from "./command-context.js";

/**
 * Does some work that Ctrl-C stops. An error after Ctrl-C is the stop's own.
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
