/** Characters with a backslash in a quoted element of an array. */
const special = /["\\]/;

/**
 * The text of a Postgres array (documentation, 8.15.6); an empty one for a list of nulls, since `unnest` fills shorter arrays
 * up. The driver takes four times as long, which shows with millions of rows.
 */
export function toArray(values: readonly (string | number | null)[]): string {
  let text = "";
  let hasValue = false;
  for (const value of values) {
    text += text === "" ? "{" : ",";
    if (value === null) {
      text += "NULL";
      continue;
    }
    hasValue = true;
    if (typeof value === "number") text += value;
    else text += special.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : `"${value}"`;
  }
  return hasValue ? `${text}}` : "{}";
}

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
