import type pg from "pg";

/** A score that a person gave, of that person or, with $4 null, of anybody. A probe of `score_pkey`. */
const deleteScoreSql = `
  DELETE FROM score WHERE account_id = $1 AND trace_id = $2 AND id = $3 AND person_id IS NOT NULL AND ($4::uuid IS NULL OR person_id = $4)`;

interface ScoreToDelete {
  accountId: string;
  traceId: string;
  scoreId: string;
  /** Null removes what others gave, too. */
  personId: string | null;
}

/** Removes a score that was given by hand. @returns false where there is none that may be removed */
export async function deleteScore(
  pool: pg.Pool,
  { accountId, traceId, scoreId, personId }: ScoreToDelete,
): Promise<boolean> {
  const values = [accountId, traceId, scoreId, personId];
  return (await pool.query({ name: "delete-score", text: deleteScoreSql, values })).rowCount === 1;
}
