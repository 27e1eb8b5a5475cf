import type pg from "pg";

/** Tables and views but for the partitions of a time, which come and go. */
const relations = `(SELECT *, relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
  AND relname <> '_prisma_migrations' AND NOT (relispartition AND relname !~ '_default$'))`;

/** Newer servers also list NOT NULL as constraints; in a new table there is nothing to validate. */
const catalogSql = `
  SELECT concat_ws(' ', relkind, name, relpersistence, relreplident, reloptions, relacl, relrowsecurity,
    pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid), pg_get_viewdef(oid), obj_description(oid)) AS line
  FROM ${relations} r WHERE relkind IN ('r', 'p', 'v', 'S')
  UNION ALL
  SELECT concat_ws(' ', 'column', name, row_number() OVER (PARTITION BY r.oid ORDER BY attnum), attname,
    format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull, pg_get_expr(adbin, adrelid), attidentity,
    attgenerated, attstorage, attcompression, attoptions, attacl, col_description(r.oid, attnum))
  FROM ${relations} r JOIN pg_attribute ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = r.oid AND adnum = attnum WHERE relkind IN ('r', 'p', 'v')
  UNION ALL
  SELECT concat_ws(' ', 'constraint', name, conname, replace(pg_get_constraintdef(c.oid), ' NOT VALID', ''), conislocal)
  FROM ${relations} r JOIN pg_constraint c ON conrelid = r.oid AND contype <> 'n'
  UNION ALL
  SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisvalid, indisreplident)
  FROM ${relations} r JOIN pg_index ON indrelid = r.oid
  UNION ALL
  SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), tgenabled)
  FROM ${relations} r JOIN pg_trigger t ON tgrelid = r.oid AND NOT tgisinternal
  UNION ALL
  SELECT concat_ws(' ', 'function', pg_get_functiondef(oid), proacl, obj_description(oid))
  FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL
  SELECT concat_ws(' ', 'schema', nspname, nspacl) FROM pg_namespace WHERE nspname !~ '^pg_'
  UNION ALL
  SELECT concat_ws(' ', 'extension', extname) FROM pg_extension
  ORDER BY 1`;

/** The lines of a database's catalogs: tables, columns, constraints, indexes, triggers, functions and rights. */
export async function readCatalog(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(catalogSql);
  return rows.map(({ line }) => line);
}
