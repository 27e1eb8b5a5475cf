import { textProblem } from "@waymark/service/fields";

export type AccountErrorCode =
  | "unknown_account"
  | "unknown_key"
  | "too_many_keys"
  | "too_many_sites"
  | "too_many_unproven"
  | "unknown_site"
  | "invalid_email"
  | "email_taken"
  | "invalid_name"
  | "invalid_scope"
  | "invalid_domain"
  | "domain_taken"
  | "domain_full";

/** A refused request about an account, its keys or its sites. The message is a sentence for the operator. */
export class AccountError extends Error {
  override name = "AccountError";

  constructor(
    readonly code: AccountErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const maxNameLength = 200;

/** @throws AccountError `invalid_name` for a name that is blank, over 200 characters or not storable (NUL, lone surrogates) */
export function readName(name: string, owner: "key" | "site"): string {
  if (name.trim() !== "" && name.length <= maxNameLength && !textProblem(name)) return name;
  throw new AccountError("invalid_name", `A ${owner}'s name has 1 to ${maxNameLength} characters.`);
}
