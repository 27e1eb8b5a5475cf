/**
 * How long jest may take, in milliseconds, by the variables that `pnpm test` sets. Load must not fail a test: these end
 * hanging ones. A debugger may pause a test for as long as a timer can wait.
 */
export function limitsOf(env = process.env) {
  const isInspecting = Boolean(env.WAYMARK_TEST_INSPECT);
  const isWatching = Boolean(env.WAYMARK_TEST_WATCH);
  return {
    testMs: isInspecting ? 2 ** 31 - 1 : 480_000,
    runMs: isInspecting || isWatching ? undefined : 3_600_000,
  };
}
