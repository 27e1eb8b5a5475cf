import { Buffer } from "node:buffer";
import type pg from "pg";
import { derivedColumns } from "./import-line.schema.js";

/** Enough to spread the cost of a read, few enough to keep memory small. */
const batchEvents = 5_000;

/** A range of `event_pkey` in its order, after the end of the last read. */
const exportSql = (isFirst: boolean) => `
  SELECT id, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ts, type, path, referrer, country,
    visitor::text, ${derivedColumns.join(", ")}, name, CASE WHEN NOT is_interactive THEN false END AS interactive,
    trim_scale(revenue_amount)::text AS amount, revenue_currency AS currency, engaged_ms, scroll_depth, props
  FROM event WHERE site_id = $1 AND id ${isFirst ? ">=" : ">"} $2 ORDER BY id LIMIT ${batchEvents}`;

const firstId = "00000000-0000-0000-0000-000000000000";

/** As newline-delimited JSON, oldest first, in constant memory: another site gets the same figures from it. */
export async function* exportEvents(pool: pg.Pool, siteId: string): AsyncGenerator<{ events: number; text: Buffer }> {
  let after = firstId;
  for (let isFirst = true; ; isFirst = false) {
    const { rows } = await pool.query<Record<string, unknown> & { id: string; props: unknown }>({
      name: isFirst ? "export-events-first" : "export-events",
      text: exportSql(isFirst),
      values: [siteId, after],
    });
    const last = rows.at(-1);
    if (!last) return;
    after = last.id;
    yield { events: rows.length, text: Buffer.from(rows.map(toLine).join("")) };
  }
}

function toLine({ props, amount, currency, ...fields }: Record<string, unknown>): string {
  const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  if (amount !== null) present["revenue"] = { amount, currency };
  const line = JSON.stringify(present);
  if (props === null || props === undefined) return `${line}\n`;
  const text = typeof props === "string" ? props : JSON.stringify(props);
  return `${line.slice(0, -1)},"props":${text}}\n`;
}
