/**
 * Waits for work, but not longer than a time. The work itself goes on; it must be bounded by other means.
 * @throws Error with the message, when the time is over
 */
export async function withDeadline<T>(work: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until work has succeeded or failed, but not longer than a time; whether it is over. */
export async function isOverWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const over = work.then(
    () => true,
    () => true,
  );
  return withDeadline(over, timeoutMs, "").catch(() => false);
}

/** Waits a time; an abort of the signal ends the wait early, without an error. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal.addEventListener("abort", finish);
  });
}
