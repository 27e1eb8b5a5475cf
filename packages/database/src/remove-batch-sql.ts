/**
 * Removes a batch that it finds once, `found` being `WHERE … LIMIT …`. A `ctid` stays valid within a statement and names no
 * partition; a role with rights on columns only needs a unique `column` in its place.
 */
export function removeBatchSql(table: string, found: string, column = "ctid"): string {
  return `DELETE FROM ${table} WHERE ${column} = ANY (ARRAY(SELECT ${column} FROM ${table} ${found}))`;
}
