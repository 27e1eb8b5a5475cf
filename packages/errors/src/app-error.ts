import { type ErrorCode, errorCodes } from "./error-codes.js";

/** Additions to an error's constant text. */
export interface AppErrorOptions {
  /** Further members of the JSON body, such as `fields` or `upgrade_url`. */
  details?: Readonly<Record<string, unknown>>;
  headers?: Readonly<Record<string, string>>;
  /** Logged, never sent. */
  cause?: unknown;
}

/** An error for the client. The error handler answers any other thrown value with a 500 and a constant text. */
export class AppError extends Error {
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly code: ErrorCode,
    options: AppErrorOptions = {},
  ) {
    super(errorCodes[code].message, { cause: options.cause });
    this.name = "AppError";
    this.status = errorCodes[code].status;
    this.details = options.details ?? {};
    this.headers = options.headers ?? {};
  }

  /** The JSON body: `error` first, then the details. */
  get body(): Record<string, unknown> {
    return { error: this.message, ...this.details };
  }
}

/**
 * Makes a 400.
 * @param fields a message for each field path, such as `{ started_at: "Required" }`; `body` means the whole body
 */
export function validationError(fields: Readonly<Record<string, string>>, cause?: unknown): AppError {
  return new AppError("validation_failed", { details: { fields }, cause });
}
