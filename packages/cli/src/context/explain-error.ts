import { AccountError, MoveError, type Refusal } from "@waymark/accounts";
import {
  BackupError,
  isDatabaseUnavailable,
  isMoving,
  MigrationError,
  PoolingError,
  RolePasswordError,
} from "@waymark/database";
import { AppError, type ErrorCode } from "@waymark/errors";
import {
  FollowedTwiceError,
  ImportSuspendedError,
  RebuildRunningError,
  SiteDeletedError,
} from "@waymark/web-stats/analytics";
import { type FoundDatabase, notRunning, placeOf } from "../local-system.js";
import { CommandError } from "./command-error.js";

/** Advice for the command line, after the error's own sentence. */
const hints: Partial<Record<Refusal | ErrorCode, string>> = {
  unknown_account: "'waymark account list' shows them.",
  unknown_key: "'waymark key list --account ID' shows them.",
  unknown_site: "'waymark site list --account ID' shows them.",
  domain_taken: "--shared lets both have its events.",
  goal_not_found: "'waymark goal list --site ID' shows them.",
  channel_not_found: "'waymark channel list --account ID' shows them.",
  failure_not_found: "'waymark failures' shows them.",
  mute_not_found: "'waymark mute list --account ID' shows them.",
  rule_not_found: "'waymark rule list --account ID' shows them.",
  funnel_not_found: "'waymark funnel list --site ID' shows them.",
};

const selfExplaining = [
  ...[CommandError, MigrationError, BackupError, MoveError],
  ...[FollowedTwiceError, ImportSuspendedError, SiteDeletedError, RebuildRunningError, RolePasswordError],
];

const poolerRefused =
  "Commands lock and copy within one session, and DATABASE_URL leads through a pooler in transaction mode. Set DIRECT_DATABASE_URL to Postgres itself.";

/** Undefined tables and columns, by SQLSTATE and by Prisma's codes. */
const missingSchemaCodes = new Set(["42P01", "42703", "P2021", "P2022"]);

const fullCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Class 28 and 3D000: the server refuses this user or database (Postgres documentation, appendix A). */
const refusedCodes = /^(28...|3D000)$/;

/**
 * The sentence for a failure, without passwords.
 * @param database the one in use, when the command found it
 */
export function explainError(error: unknown, database: FoundDatabase | undefined, dataFolder: string): string {
  if (error instanceof AccountError) return [error.message, hints[error.refusal] ?? []].flat().join(" ");
  if (error instanceof AppError) return explainAppError(error);
  if (error instanceof Error && selfExplaining.some((kind) => error instanceof kind)) return error.message;
  if (error instanceof PoolingError) return poolerRefused;
  if (isMoving(error)) return "The account is moving to another cell. 'waymark cell moves' shows how far it is.";
  const code = codeOf(error);
  // Of a file that is written, not of the database: its codes have five digits.
  if (fullCodes.has(code)) return "The disk is full, or a quota is used up: the file is not whole and was not kept.";
  if (code === "57014")
    return `The database cancelled a statement: ${reasonOf(error)}. Try again while it is less busy.`;
  const isRefused = refusedCodes.test(code);
  if (database && (isRefused || isDatabaseUnavailable(error))) {
    if (database.from === "local") return notRunning(dataFolder);
    const reason = isRefused ? "refuses the connection" : "cannot be reached";
    return `The database at ${placeOf(database.url)} (DATABASE_URL) ${reason}: ${reasonOf(error)}.`;
  }
  if (missingSchemaCodes.has(code)) {
    return "The database lacks tables or columns of this version. Run 'waymark migrate', then try again.";
  }
  return `This failed unexpectedly: ${reasonOf(error)}. LOG_LEVEL=debug shows the details.`;
}

/** Names each wrong field, else gives the reason or the error's own text. */
function explainAppError({ code, message, details }: AppError): string {
  const { fields, reason } = details;
  if (typeof fields === "object" && fields !== null) {
    return Object.entries(fields)
      .map(([field, problem]) => `${field}: ${problem}.`)
      .join(" ");
  }
  if (typeof reason === "string") return reason;
  return [message.replace(/\.?$/, "."), hints[code] ?? []].flat().join(" ");
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** The first line of an error's message, without its full stop. Several attempts at one connection count as one. */
function reasonOf(error: unknown): string {
  const single = error instanceof AggregateError ? error.errors[0] : error;
  const message = single instanceof Error ? single.message : String(single);
  const lines = message.split("\n").map((line) => line.trim());
  return (lines.find((line) => line !== "") ?? "no reason given").replace(/\.$/, "");
}
