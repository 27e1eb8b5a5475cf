/**
 * Removes a batch that it finds once, `found` being `WHERE … LIMIT …`. Joined to the table, the batch could be searched anew for
 * each row. A `ctid` stays valid within a statement; a role with rights on columns only needs a unique `column` in its place.
 * @param table not partitioned, since a `ctid` names no partition
 */
export function removeBatchSql(table: string, found: string, column = "ctid"): string {
  return `DELETE FROM ${table} WHERE ${column} = ANY (ARRAY(SELECT ${column} FROM ${table} ${found}))`;
}
