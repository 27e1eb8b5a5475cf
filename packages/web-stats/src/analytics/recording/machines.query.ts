import type pg from "pg";
import { otherValue } from "../../lists/lists.js";
import type { Claim } from "../attribution/machine-claims.js";
import type { Purpose } from "../attribution/machine-list.schema.js";
import { toArray } from "./record-events.query.js";

export interface MachineRequest {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly machine: string;
  readonly purpose: Purpose;
  readonly path: string;
  /** Of the answer; 0 where nobody knows. */
  readonly status: number;
  readonly claim: Claim;
}

/** Pairs of machine and path of a site's day: a report adds up those of 30 days in less than a tenth of a second. */
export const maxPairsPerDay = 4_000;

/** Requests of a machine for a path on a day, and how many of them were of a kind. */
const counters = {
  requests: () => true,
  verified: ({ claim }) => claim === "verified",
  refuted: ({ claim }) => claim === "false",
  errors: ({ status }) => status >= 400,
  missing: ({ status }) => status === 404 || status === 410,
  blocked: ({ status }) => status === 401 || status === 403 || status === 429,
  failed: ({ status }) => status >= 500,
} as const satisfies Readonly<Record<string, (request: MachineRequest) => boolean>>;

type Counter = keyof typeof counters;

const machineCounters = Object.keys(counters) as Counter[];

type MachineRow = Pick<MachineRequest, "day" | "machine" | "purpose" | "path"> & Record<Counter, number>;

const addToOld = machineCounters.map((name) => `${name} = old.${name} + EXCLUDED.${name}`).join(", ");
const sums = machineCounters.map((name) => `sum(${name})`).join(", ");

/**
 * Adds requests to the sums of their day and machine, and of their path, in the transaction's lock of the site. A day keeps the
 * first `maxPairsPerDay` pairs of machine and path; further ones count under `(other)`. Probes `machine_day_pkey` for each pair
 * and `machine_total_pkey` for each machine, and counts a range of the former for each day.
 */
const addSql = `
  WITH given AS (
    SELECT * FROM unnest($2::date[], $3::text[], $4::text[], $5::text[], ${machineCounters.map((_name, index) => `$${7 + index}::int[]`).join(", ")})
      WITH ORDINALITY AS given (day, machine, purpose, path, ${machineCounters.join(", ")}, place)
  ), total AS (
    INSERT INTO machine_total AS old (site_id, day, machine, purpose, ${machineCounters.join(", ")})
    SELECT $1, day, machine, min(purpose), ${sums} FROM given GROUP BY day, machine ORDER BY day, machine
    ON CONFLICT (site_id, day, machine) DO UPDATE SET ${addToOld}
  ), sized AS (
    SELECT day, (SELECT count(*) FROM machine_day WHERE site_id = $1 AND machine_day.day = asked.day) AS size
    FROM (SELECT DISTINCT day FROM given) AS asked
  ), marked AS (
    SELECT given.*, size, EXISTS (
      SELECT FROM machine_day AS old WHERE (old.site_id, old.day, old.machine, old.path) = ($1, given.day, given.machine, given.path)
    ) AS is_known
    FROM given JOIN sized USING (day)
  ), placed AS (
    SELECT *, CASE WHEN is_known OR size + row_number() OVER (PARTITION BY day, is_known ORDER BY place) <= $6 THEN path
      ELSE '${otherValue}' END AS kept
    FROM marked
  )
  INSERT INTO machine_day AS old (site_id, day, machine, path, purpose, ${machineCounters.join(", ")})
  SELECT $1, day, machine, kept, min(purpose), ${sums}
  FROM placed GROUP BY day, machine, kept ORDER BY day, machine, kept
  ON CONFLICT (site_id, day, machine, path) DO UPDATE SET ${addToOld}`;

/** @param requests each with the number of requests like it */
export async function recordMachines(
  client: pg.ClientBase,
  siteId: string,
  requests: Iterable<readonly [MachineRequest, number]>,
): Promise<void> {
  const rows = [...sumUp(requests)];
  if (rows.length === 0) return;
  const columnOf = (name: keyof MachineRow) => toArray(rows.map((row) => row[name]));
  const values = [siteId, ...(["day", "machine", "purpose", "path"] as const).map(columnOf), maxPairsPerDay];
  await client.query({ name: "add-machines", text: addSql, values: [...values, ...machineCounters.map(columnOf)] });
}

function sumUp(requests: Iterable<readonly [MachineRequest, number]>): Iterable<MachineRow> {
  const rows = new Map<string, MachineRow>();
  for (const [request, count] of requests) {
    const { day, machine, purpose, path } = request;
    const key = `${day}\0${machine}\0${path}`;
    const row = rows.get(key) ?? { day, machine, purpose, path, ...noCounts };
    rows.set(key, row);
    for (const name of machineCounters) if (counters[name](request)) row[name] += count;
  }
  return rows.values();
}

const noCounts = Object.fromEntries(machineCounters.map((name) => [name, 0])) as Record<Counter, number>;
