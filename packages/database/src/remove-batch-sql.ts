/**
 * A statement that removes the rows of one batch.
 *
 * It finds them once, and by `ctid`, which stays valid within a statement. Joined to the table, the batch could be searched anew
 * for each row: where statistics do not know an account, the planner expects one row of it.
 * @param table not partitioned, since a `ctid` names no partition
 * @param found from `WHERE` to `LIMIT`
 * @param column another unique column, for a role that may not read `ctid`: it may read some columns only
 */
export function removeBatchSql(table: string, found: string, column = "ctid"): string {
  return `DELETE FROM ${table} WHERE ${column} = ANY (ARRAY(SELECT ${column} FROM ${table} ${found}))`;
}
