import type { SpanChange } from "./span.schema.js";

export interface SpanToChange {
  accountId: string;
  /** In lower case, as Postgres writes it. */
  traceId: string;
  /** In lower case; null for a text that is no id: the statement then looks for the trace only. */
  spanId: string | null;
  change: SpanChange;
}
