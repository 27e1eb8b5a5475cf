import { originColumns } from "../recording/visit.js";

const columns = [
  "last_us",
  "entry_us",
  "entry_id",
  "exit_us",
  "exit_id",
  "views",
  "events",
  "passive_events",
  "end_us",
  "entry_path",
  "exit_path",
  ...originColumns,
];
const names = columns.join(", ");
const of = (table: string) => columns.map((column) => `${table}.${column}`).join(", ");

/** Visits whose row differs from their events, by a range of `visit_pkey`. */
export const createMendVisitsSql = `
  CREATE TEMP TABLE mend_visit AS
  SELECT COALESCE(stored.visitor, expected.visitor) AS visitor, stored.first_us AS stored_first_us, expected.first_us,
    ${of("expected")}, expected.viewed
  FROM (
    SELECT *, ARRAY(SELECT unnest(viewed) ORDER BY 1) AS ordered FROM visit WHERE site_id = $1 AND day = $2
  ) AS stored
  FULL JOIN (SELECT *, ARRAY(SELECT unnest(viewed) ORDER BY 1) AS ordered FROM day_visit) AS expected
    ON stored.visitor = expected.visitor AND stored.first_us = expected.first_us
  WHERE (stored.ordered, ${of("stored")}) IS DISTINCT FROM (expected.ordered, ${of("expected")})`;

/** Replace different rows, by `visit_pkey`. */
export const mendVisitsSql = [
  `DELETE FROM visit USING mend_visit AS mended
   WHERE (visit.site_id, visit.day, visit.visitor, visit.first_us) = ($1, $2, mended.visitor, mended.stored_first_us)`,
  `INSERT INTO visit (site_id, day, visitor, first_us, ${names}, viewed)
   SELECT $1, $2, visitor, first_us, ${names}, viewed FROM mend_visit WHERE first_us IS NOT NULL`,
];
