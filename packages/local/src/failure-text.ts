/** The sentence for a failure of `start`: on a full disk, what to do about it; else what the failure says itself. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (isDiskFull(error)) return `There is no space left on the disk. Make some, then start again. (${message})`;
  return message;
}

/** SQLSTATE 53100 is Postgres's `disk_full`; its programs say it in words. */
function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return code === "ENOSPC" || code === "53100" || /no space left on device/i.test(message ?? "");
}
