import { type CountedRequest, storedBytes } from "../usage/stored-bytes.js";
import type { SpanChange } from "./span.schema.js";

export interface SpanToChange extends CountedRequest {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  /** In lower case; null for a text that is no id: the statement then looks for the trace only. */
  spanId: string | null;
  change: SpanChange;
}

/** What a change counts in its account's month: new contents count as a row of their own, and others nothing. */
export function bytesOfChange({ output, error, attributes }: SpanChange): number {
  return output || error || attributes ? storedBytes([output?.text, error, attributes?.text]) : 0;
}
