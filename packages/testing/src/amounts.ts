/** Whether `pnpm test --nightly` runs. */
export const isNightly = Boolean(process.env["WAYMARK_TEST_NIGHTLY"]);

/** How much of a load or of repetitions a test does: little in every run, much by `pnpm test --nightly`. */
export function amount(usual: number, nightly: number): number {
  return isNightly ? nightly : usual;
}

/** @param usual runs that take seconds, 20 times as many by `pnpm test --nightly`; `TEST_RUNS` sets them */
export function randomRuns(usual: number): { numRuns: number; seed?: number } {
  const [runs, seed] = [process.env["TEST_RUNS"], process.env["TEST_SEED"]];
  return { numRuns: Number(runs ?? amount(usual, 20 * usual)), ...(seed && { seed: Number(seed) }) };
}

/** Runs a generator that yields between steps to its end. */
export function resultOf<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
