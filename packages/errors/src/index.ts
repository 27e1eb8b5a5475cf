export { AppError, validationError } from "./app-error.js";
export type { ErrorCode } from "./error-codes.js";
export { errorHandler, notFoundHandler, type SendError } from "./error-handler.js";
