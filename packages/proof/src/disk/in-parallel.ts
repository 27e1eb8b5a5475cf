/** Enough to fill group commits, as clients do together. */
const senders = 8;

/** Does a piece of work for each number below a count, several at once. */
export async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const sender = async () => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: senders }, sender));
}
