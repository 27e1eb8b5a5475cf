import { changedNames, type SpanChange, sizedNames, textOf } from "@waymark/traces";
import { type CountedRequest, storedBytes } from "../usage/stored-bytes.js";

export interface SpanToChange extends CountedRequest {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  /** In lower case; null for a text that is no id: the statement then looks for the trace only. */
  spanId: string | null;
  change: SpanChange;
}

const sized = changedNames.filter((name) => sizedNames(true).includes(name));

/** What a change counts in its account's month: new contents count as a row of their own, and others nothing. */
export function bytesOfChange(change: SpanChange): number {
  const texts = sized.map((name) => textOf(change[name]));
  return texts.some(Boolean) ? storedBytes(texts) : 0;
}
