import { z } from "zod";

/** A time as an answer gives it. */
export const timestamp = z.string().meta({ format: "date-time" });

/** SQL for a timestamp as answers show it: UTC with `Z`, milliseconds, and microseconds if there are any. Needs a session in UTC. */
export function isoText(column: string): string {
  return `replace(to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '000Z', 'Z')`;
}
