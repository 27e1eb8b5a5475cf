export { AppError, type AppErrorOptions, validationError } from "./app-error.js";
export { type ErrorCode, errorCodes } from "./error-codes.js";
export { type ErrorHandlerOptions, errorHandler, notFoundHandler } from "./error-handler.js";
