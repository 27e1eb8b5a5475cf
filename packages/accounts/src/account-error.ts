/** Why something about an account, its keys or its sites cannot be done. */
export type AccountErrorCode =
  | "unknown_account"
  | "unknown_key"
  | "unknown_site"
  | "invalid_email"
  | "email_taken"
  | "invalid_name"
  | "invalid_domain"
  | "domain_taken"
  | "domain_full";

/** A request about an account cannot be done. The message is a sentence for the person who asked. */
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
