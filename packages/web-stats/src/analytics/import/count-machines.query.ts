import type pg from "pg";
import { recordMachines } from "../recording/machines.query.js";
import { toArray } from "../recording/record-events.query.js";
import type { EncodedMachines } from "./machine-lines.js";

/** Remembers lines, and counts those it did not know, by their requests. Probes `machine_line_pkey` for each line. */
const addLinesSql = `
  WITH line AS (
    SELECT id, min(place) AS place FROM unnest($2::uuid[], $3::int[]) AS given (id, place) GROUP BY id
  ), fresh AS (
    INSERT INTO machine_line (site_id, id) SELECT $1, id FROM line ORDER BY id ON CONFLICT DO NOTHING RETURNING id
  )
  SELECT place, count(*)::int AS count FROM fresh JOIN line USING (id) GROUP BY place`;

/** Counts the requests of lines that no import counted before, in the transaction of their batch. @returns how many */
export async function countMachines(
  client: pg.ClientBase,
  siteId: string,
  { requests, ids, places }: EncodedMachines,
): Promise<number> {
  if (ids.length === 0) return 0;
  const values = [siteId, toArray(ids), toArray([...places])];
  const { rows } = await client.query<{ place: number; count: number }>(addLinesSql, values);
  const counted = rows.flatMap(({ place, count }) => {
    const request = requests[place];
    return request ? [[request, count] as const] : [];
  });
  await recordMachines(client, siteId, counted);
  return counted.reduce((sum, [, count]) => sum + count, 0);
}
