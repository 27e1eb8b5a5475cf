/** The sentence for a failure of `start`: advice for a full disk, else the error's own message. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (isDiskFull(error)) return `There is no space left on the disk. Make some, then start again. (${message})`;
  return message;
}

/** SQLSTATE 53100 is Postgres's `disk_full`; its programs print the words. */
function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "ENOSPC" || code === "53100" || /no space left on device/i.test(message ?? "");
}
