/** Two writers record the same events at once, in batches of the given sizes: one in order, one from behind. */
export async function recordForthAndBack<Event>(
  all: readonly Event[],
  sizes: readonly number[],
  record: (batch: Event[]) => Promise<unknown>,
): Promise<void> {
  const batches: Event[][] = [];
  for (let i = 0, n = 0; i < all.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    batches.push(all.slice(i, i + size));
    i += size;
  }
  const forth = async () => {
    for (const batch of batches) await record(batch);
  };
  const back = async () => {
    for (const batch of batches.toReversed()) await record(batch.toReversed());
  };
  await Promise.all([forth(), back()]);
}
