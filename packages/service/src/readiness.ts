/** A check per store; it throws when the store does not answer. */
type Checks = Readonly<Record<string, () => Promise<unknown>>>;

export interface ReadinessChecks {
  /** Stores required for any work. */
  required: Checks;
  /** Stores with a substitute: the answer names a failed one and stays 200. */
  bridged?: Checks;
}

/** A slower store is not ready. */
const checkTimeoutMs = 2_000;

/**
 * Whether the stores answer, each within two seconds.
 * @returns status 200 with `{status:"ok", checks}`, or 503 with `{error, checks}` when a required one fails; each check is
 * `ok` or `failed`
 */
export async function readiness(
  checks: ReadinessChecks,
): Promise<{ status: 200 | 503; body: Record<string, unknown> }> {
  const all = { ...checks.required, ...checks.bridged };
  const results = await Promise.all(
    Object.entries(all).map(async ([name, check]) => [name, (await passes(check)) ? "ok" : "failed"] as const),
  );
  const outcome = Object.fromEntries(results);
  const failed = Object.keys(checks.required).filter((name) => outcome[name] === "failed");
  if (failed.length === 0) return { status: 200, body: { status: "ok", checks: outcome } };
  return { status: 503, body: { error: `Not ready: ${failed.join(", ")}`, checks: outcome } };
}

async function passes(check: () => Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("timeout")), checkTimeoutMs);
  });
  try {
    await Promise.race([check(), timeout]);
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
