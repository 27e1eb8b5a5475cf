/** SQLSTATE `foreign_key_violation` (Postgres documentation, appendix A). */
const code = "23503";

export function isForeignKeyViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
