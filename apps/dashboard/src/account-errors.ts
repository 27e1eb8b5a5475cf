import {
  AccountError,
  type AccountErrorCode,
  maxKeysPerAccount,
  maxSitesPerAccount,
  maxUnprovenSites,
} from "@waymark/accounts";
import { AppError, validationError } from "@waymark/errors";

const answers: Partial<Record<AccountErrorCode, (error: AccountError) => AppError>> = {
  unknown_key: (cause) => new AppError("not_found", { cause }),
  unknown_site: (cause) => new AppError("site_not_found", { cause }),
  unknown_account: (cause) => new AppError("not_signed_in", { cause }),
  invalid_name: (error) => validationError({ name: error.message }, error),
  invalid_scope: (error) => validationError({ scope: error.message }, error),
  invalid_domain: (error) => validationError({ domain: error.message }, error),
  domain_full: (error) => validationError({ domain: error.message }, error),
  too_many_keys: (error) => fullAccount(error, maxKeysPerAccount),
  too_many_unproven: (error) => fullAccount(error, maxUnprovenSites),
  too_many_sites: (error) => fullAccount(error, maxSitesPerAccount),
};

function fullAccount(error: AccountError, limit: number): AppError {
  return new AppError("account_full", { details: { limit, reason: error.message }, cause: error });
}

/** Does work on accounts, and answers its refusals by status. */
export async function answerAccountErrors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw (error instanceof AccountError && answers[error.code]?.(error)) || error;
  }
}
