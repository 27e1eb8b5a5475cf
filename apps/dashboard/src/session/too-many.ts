import { AppError } from "@waymark/errors";

export function tooMany(seconds: number): AppError {
  return new AppError("rate_limited", {
    details: { retry_after: seconds },
    headers: { "Retry-After": String(seconds) },
  });
}
