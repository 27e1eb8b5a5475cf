/**
 * Starts work together, so that a connection may send its statements in one round trip.
 * @param inTurn for a connection that takes one statement after the other
 */
export function gather<Results extends readonly unknown[]>(
  inTurn: boolean,
  ...work: { readonly [Index in keyof Results]: () => Promise<Results[Index]> }
): Promise<Results> {
  return (inTurn ? doInTurn(work) : startAll(work)) as Promise<unknown> as Promise<Results>;
}

/** @throws at once an error of starting; the promises before it then belong to nobody */
function startAll(work: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  const started: Promise<unknown>[] = [];
  try {
    for (const start of work) started.push(start());
  } catch (error) {
    for (const each of started) each.catch(() => undefined);
    throw error;
  }
  return Promise.all(started);
}

async function doInTurn(work: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const start of work) results.push(await start());
  return results;
}
