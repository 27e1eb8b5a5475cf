export interface AppErrorOptions {
  /** Replaces the code's public text, where a sentence names more. */
  message?: string;
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
    super(options.message ?? errorCodes[code].message, { cause: options.cause });
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

/** Makes a 400 with a message per field path, such as `{ started_at: "Required" }`; `body` means the whole body. */
export function validationError(fields: Readonly<Record<string, string>>, cause?: unknown): AppError {
  return new AppError("validation_failed", { details: { fields }, cause });
}

/** Makes a 429 with the seconds to wait. */
export function tooMany(seconds: number): AppError {
  const headers = { "Retry-After": String(seconds) };
  return new AppError("rate_limited", { details: { retry_after: seconds }, headers });
}

/** Every error, with its status and public text, of both contracts ("Errors") and of `design.md`. */
export const errorCodes = {
  validation_failed: { status: 400, message: "Validation failed" },
  bad_signature: { status: 400, message: "Bad signature" },
  invalid_api_key: { status: 401, message: "Invalid API key" },
  not_signed_in: { status: 401, message: "Sign in first" },
  wrong_password: { status: 401, message: "Wrong email or password" },
  agent_limit: { status: 403, message: "Free plan limited to 1 agent" },
  plan_required: { status: 403, message: "The API requires a Pro plan. Upgrade to Pro to read statistics." },
  scope_required: { status: 403, message: "This key has the wrong scope" },
  owner_only: { status: 403, message: "Only an owner of the account may do this" },
  read_only: { status: 403, message: "Your role in this account only reads" },
  wrong_passkey: { status: 400, message: "The passkey was not accepted" },
  sign_up_closed: { status: 403, message: "Accounts are by invitation here" },
  operator_only: { status: 403, message: "Only who runs this installation may do this" },
  cross_site: { status: 403, message: "Request from another site" },
  not_found: { status: 404, message: "Not found" },
  site_not_found: { status: 404, message: "Site not found" },
  goal_not_found: { status: 404, message: "Goal not found" },
  funnel_not_found: { status: 404, message: "Funnel not found" },
  channel_not_found: { status: 404, message: "Channel not found" },
  agent_not_found: { status: 404, message: "Agent not found" },
  trace_not_found: { status: 404, message: "Trace not found" },
  session_not_found: { status: 404, message: "Session not found" },
  span_not_found: { status: 404, message: "Span not found" },
  failure_not_found: { status: 404, message: "Failure not found" },
  mute_not_found: { status: 404, message: "Mute not found" },
  rule_not_found: { status: 404, message: "Rule not found" },
  method_not_allowed: { status: 405, message: "Method not allowed" },
  account_full: { status: 409, message: "The account has no room for another one" },
  scores_full: { status: 409, message: "The trace has no room for another score" },
  site_full: { status: 409, message: "The site has no room for another one" },
  goal_in_use: { status: 409, message: "A funnel has this goal as a step. Delete the funnel first." },
  channel_ended: { status: 409, message: "The channel has ended. Create another one." },
  channel_waiting: { status: 409, message: "The channel waits for its address: the mailed link confirms it." },
  request_in_progress: { status: 409, message: "A request with this idempotency key is in progress" },
  last_owner: { status: 409, message: "The last owner cannot leave or become a member" },
  already_member: { status: 409, message: "This person is in the account already" },
  account_taken: { status: 409, message: "Another account has this address. Ask one of its owners for an invitation." },
  link_expired: { status: 410, message: "This link was used or has expired" },
  trace_full: { status: 413, message: "Trace has too many spans" },
  body_too_large: { status: 413, message: "Body too large" },
  unsupported_media_type: { status: 415, message: "Unsupported content type" },
  idempotency_key_reused: { status: 422, message: "Idempotency key was used for another request" },
  rate_limited: { status: 429, message: "Rate limit exceeded" },
  account_busy: { status: 429, message: "Too much in progress for this account" },
  trace_limit: { status: 429, message: "Monthly trace limit reached. Upgrade to Pro." },
  byte_limit: { status: 429, message: "Monthly storage limit reached. Upgrade to Pro." },
  byte_limit_pro: { status: 429, message: "Monthly storage limit reached" },
  internal: { status: 500, message: "Internal server error" },
  payments_away: { status: 502, message: "Stripe does not answer as it should. Try again in a minute." },
  busy: { status: 503, message: "Service temporarily unavailable" },
  unavailable: { status: 503, message: "Service temporarily unavailable" },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorCodes;
