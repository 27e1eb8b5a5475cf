import { AppError, type ErrorCode, errorCodes } from "@waymark/errors";
import { textProblem } from "@waymark/service/fields";

/** Each refusal as the dashboard answers it; a `field` is the one of its request. */
const refusals = {
  unknown_account: { code: "not_signed_in" },
  unknown_key: { code: "not_found" },
  unknown_site: { code: "site_not_found" },
  too_many_keys: { code: "account_full" },
  too_many_sites: { code: "account_full" },
  too_many_unproven: { code: "account_full" },
  invalid_email: { code: "validation_failed", field: "email" },
  email_taken: { code: "validation_failed", field: "email" },
  invalid_name: { code: "validation_failed", field: "name" },
  invalid_scope: { code: "validation_failed", field: "scope" },
  invalid_domain: { code: "validation_failed", field: "domain" },
  domain_taken: { code: "validation_failed", field: "domain" },
  domain_full: { code: "validation_failed", field: "domain" },
} as const satisfies Record<string, { code: ErrorCode; field?: string }>;

export type Refusal = keyof typeof refusals;

/** A refused request about an account, its keys or its sites. The message is a sentence for the operator. */
export class AccountError extends AppError {
  override name = "AccountError";

  constructor(
    readonly refusal: Refusal,
    message: string,
    { limit, cause }: { limit?: number; cause?: unknown } = {},
  ) {
    const { code, field }: { code: ErrorCode; field?: string } = refusals[refusal];
    const details = { ...(field && { fields: { [field]: message } }), ...(limit && { limit, reason: message }) };
    super(code, { message, details, cause });
  }

  override get body() {
    return { ...super.body, error: errorCodes[this.code].message };
  }
}

const maxNameLength = 200;

/** @throws AccountError `invalid_name` for a name that is blank, over 200 characters or not storable (NUL, lone surrogates) */
export function readName(name: string, owner: "key" | "site"): string {
  if (name.trim() !== "" && name.length <= maxNameLength && !textProblem(name)) return name;
  throw new AccountError("invalid_name", `A ${owner}'s name has 1 to ${maxNameLength} characters.`);
}
