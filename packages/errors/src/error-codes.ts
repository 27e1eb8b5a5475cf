/**
 * Every error of the services, with its status and public text. Sources: the "Errors" sections of both contracts, and
 * `design.md` for further errors.
 */
export const errorCodes = {
  validation_failed: { status: 400, message: "Validation failed" },
  bad_signature: { status: 400, message: "Bad signature" },
  invalid_api_key: { status: 401, message: "Invalid API key" },
  not_signed_in: { status: 401, message: "Sign in first" },
  wrong_password: { status: 401, message: "Wrong email or password" },
  agent_limit: { status: 403, message: "Free plan limited to 1 agent" },
  plan_required: { status: 403, message: "The API requires a Pro plan. Upgrade to Pro to read statistics." },
  owner_only: { status: 403, message: "Only an owner of the account may do this" },
  sign_up_closed: { status: 403, message: "Accounts are by invitation here" },
  operator_only: { status: 403, message: "Only who runs this installation may do this" },
  cross_site: { status: 403, message: "Request from another site" },
  not_found: { status: 404, message: "Not found" },
  site_not_found: { status: 404, message: "Site not found" },
  trace_not_found: { status: 404, message: "Trace not found" },
  span_not_found: { status: 404, message: "Span not found" },
  method_not_allowed: { status: 405, message: "Method not allowed" },
  account_full: { status: 409, message: "The account has no room for another one" },
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
  internal: { status: 500, message: "Internal server error" },
  payments_away: { status: 502, message: "Stripe does not answer as it should. Try again in a minute." },
  busy: { status: 503, message: "Service temporarily unavailable" },
  unavailable: { status: 503, message: "Service temporarily unavailable" },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorCodes;
