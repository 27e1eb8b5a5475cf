import { type ErrorCode, errorCodes } from "./error-codes.js";

/** What an error adds to its constant text. */
export interface AppErrorOptions {
  /** Further members of the JSON body, such as `fields` or `upgrade_url`. */
  details?: Readonly<Record<string, unknown>>;
  /** Response headers, such as `Retry-After`. */
  headers?: Readonly<Record<string, string>>;
  /** What went wrong underneath: logged, never sent. */
  cause?: unknown;
}

/** A refusal meant for the client. Anything else that is thrown is answered as a 500 with a constant text. */
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
 * A 400 that names what is wrong.
 * @param fields one message per field path, such as `{ started_at: "Required" }`; `body` stands for the whole body
 */
export function validationError(fields: Readonly<Record<string, string>>, cause?: unknown): AppError {
  return new AppError("validation_failed", { details: { fields }, cause });
}
