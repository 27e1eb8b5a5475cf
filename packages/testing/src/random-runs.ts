/**
 * The parameters of a random test.
 * @param few runs that take seconds; `TEST_RUNS` asks for more, and `TEST_SEED` repeats some
 */
export function randomRuns(few: number): { numRuns: number; seed?: number } {
  const [runs, seed] = [process.env["TEST_RUNS"], process.env["TEST_SEED"]];
  return { numRuns: Number(runs ?? few), ...(seed && { seed: Number(seed) }) };
}
