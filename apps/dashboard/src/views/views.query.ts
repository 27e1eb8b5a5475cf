import { createUuidV7, isUuid, withTransaction } from "@waymark/database";
import { AppError, validationError } from "@waymark/errors";
import type pg from "pg";

export const maxViews = 50;

/** An address of the list of traces under a name, for all people of an account. */
export interface SavedView {
  id: string;
  name: string;
  query: string;
}

const uuid = createUuidV7();

/** The account's views by name: a range of `saved_view_account_id_name_key`, of 50 rows at most. */
const listSql = "SELECT id, name, query FROM saved_view WHERE account_id = $1 ORDER BY name";

export async function listViews(pool: pg.Pool, accountId: string): Promise<SavedView[]> {
  return (await pool.query<SavedView>({ name: "list-views", text: listSql, values: [accountId] })).rows;
}

/** Writers of one account's views wait for each other, so that their bound is exact: a probe of `account_pkey`. */
const lockSql = "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE";

/** A name has one view: `saved_view_account_id_name_key` refuses another. */
const insertSql = "INSERT INTO saved_view (account_id, id, name, query) VALUES ($1, $2, $3, $4)";

/** @throws AppError 400 for a name that another view has, 409 for an account with 50 views */
export async function createView(pool: pg.Pool, accountId: string, view: Omit<SavedView, "id">): Promise<SavedView> {
  const id = uuid();
  await withTransaction(pool, async (transaction) => {
    await transaction.query(lockSql, [accountId]);
    const { rowCount } = await transaction.query("SELECT FROM saved_view WHERE account_id = $1", [accountId]);
    if ((rowCount ?? 0) >= maxViews) {
      const reason = `An account has at most ${maxViews} saved views.`;
      throw new AppError("account_full", { details: { limit: maxViews, reason } });
    }
    await refuseTaken(transaction.query(insertSql, [accountId, id, view.name, view.query]));
  });
  return { id, ...view };
}

/** A probe of `saved_view_pkey`; a name has one view, as above. */
const renameSql = "UPDATE saved_view SET name = $3 WHERE account_id = $1 AND id = $2";

/** @throws AppError 400 for a name that another view has, 404 */
export async function renameView(pool: pg.Pool, accountId: string, viewId: string, name: string): Promise<void> {
  requireOne(isUuid(viewId) ? await refuseTaken(pool.query(renameSql, [accountId, viewId, name])) : undefined);
}

/** A probe of `saved_view_pkey`. */
const deleteSql = "DELETE FROM saved_view WHERE account_id = $1 AND id = $2";

/** @throws AppError 404 */
export async function deleteView(pool: pg.Pool, accountId: string, viewId: string): Promise<void> {
  requireOne(isUuid(viewId) ? await pool.query(deleteSql, [accountId, viewId]) : undefined);
}

function requireOne(result: pg.QueryResult | undefined): void {
  if (result?.rowCount !== 1) throw new AppError("not_found");
}

/** SQLSTATE 23505 (Postgres documentation, appendix A). */
function refuseTaken<Result>(query: Promise<Result>): Promise<Result> {
  return query.catch((error: unknown) => {
    const isTaken = error instanceof Error && "code" in error && error.code === "23505";
    throw isTaken ? validationError({ name: "Another view has this name" }) : error;
  });
}
