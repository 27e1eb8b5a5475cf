import type pg from "pg";
import { newestMigration } from "./generated/newest-migration.js";
import { tableGrants } from "./roles.js";

/** One probe of the catalogue, and a scan of the migrations, a few dozen. */
const isMigratedSql = "SELECT FROM _prisma_migrations WHERE migration_name = $1 AND finished_at IS NOT NULL";

/** Of pairs of tables and privileges those that the session's role lacks, by the catalogue. Some columns are enough. */
const findLackingSql = `
  SELECT name AS table, privilege FROM unnest($1::text[], $2::text[]) AS needed (name, privilege)
  WHERE NOT COALESCE(CASE privilege
    WHEN 'DELETE' THEN has_table_privilege(to_regclass('public.' || name)::oid, privilege)
    ELSE has_any_column_privilege(to_regclass('public.' || name)::oid, privilege) END, false)
  LIMIT 1`;

/**
 * Why a service could not work on a database, as a sentence with the cure. A newer schema is none: it has the migrations of
 * all releases before.
 * @param service as in {@link tableGrants}, with hyphens; another name needs no privileges
 * @throws the database's error when it cannot be asked
 */
export async function findSchemaProblem(
  pool: Pick<pg.ClientBase, "query">,
  service: string,
): Promise<string | undefined> {
  const migrated = await pool.query(isMigratedSql, [newestMigration]).catch((error: { code?: unknown }) => {
    // SQLSTATE 42P01, undefined_table, and 42501, insufficient_privilege.
    if (error.code === "42P01") return undefined;
    if (error.code === "42501") return "refused" as const;
    throw error;
  });
  if (!migrated) return "the database has no tables: run 'waymark migrate'";
  if (migrated === "refused") return lacking("SELECT", "_prisma_migrations");
  if (!migrated.rowCount) return "the schema is older than this release: run its 'waymark migrate'";
  const needed = privilegesOf(service);
  const { rows } = await pool.query<{ table: string; privilege: string }>(findLackingSql, [
    needed.map(({ table }) => table),
    needed.map(({ privilege }) => privilege),
  ]);
  const [first] = rows;
  return first && lacking(first.privilege, first.table);
}

function lacking(privilege: string, table: string): string {
  return `the role may not ${privilege} on ${table}: run 'waymark migrate' with the roles' passwords, or use the service's role`;
}

function privilegesOf(service: string): { table: string; privilege: string }[] {
  const role = service.replaceAll("-", "_");
  return Object.entries<Partial<Record<string, string>>>(tableGrants).flatMap(([table, grants]) =>
    (grants[role]?.replaceAll(/ \([^)]*\)/g, "").split(", ") ?? []).map((privilege) => ({ table, privilege })),
  );
}
