import { z } from "zod";

/** Rows that one request changes, or exports, at most. */
export const maxIds = 100;

const id = z.uuid("Must be ids").toLowerCase();

/** Ids of rows that a person has chosen. */
export const manyIds = z.array(id).min(1, "Must have an id").max(maxIds, `At most ${maxIds} ids`);

/** What was done to each of the ids. */
export function resultsOf(ids: readonly string[], done: readonly string[]) {
  const isDone = new Set(done);
  return { results: ids.map((each) => ({ id: each, isDone: isDone.has(each) })) };
}
