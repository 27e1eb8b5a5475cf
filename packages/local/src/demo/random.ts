/** Numbers that look random and are the same at each start. */
export type Random = ReturnType<typeof createRandom>;

/** Mulberry32: 32 bits of state are plenty for a demo. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  /** From 0 to below 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + next() * (high - low);
  const pick = <T>(list: readonly T[]): T => {
    const found = list[Math.floor(next() * list.length)];
    if (found === undefined) throw new Error("The list is empty");
    return found;
  };
  const weighted = <T>(list: readonly (readonly [T, number])[]): T => {
    let left = next() * list.reduce((sum, [, weight]) => sum + weight, 0);
    const found = list.find(([, weight]) => {
      left -= weight;
      return left < 0;
    });
    return (found ?? pick(list))[0];
  };
  return { next, between, pick, weighted };
}
