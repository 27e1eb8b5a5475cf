import type { UsageTables } from "@waymark/traces";

/** The answer of `GET /costs`: sums of model calls of UTC days, `to` excluded. */
export interface Costs extends UsageTables {
  from: string;
  to: string;
}
