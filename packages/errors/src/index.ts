export { AppError, type AppErrorOptions, validationError } from "./app-error.js";
export { type ErrorCode, errorCodes } from "./error-codes.js";
export { type ErrorHandlerOptions, errorHandler, notFoundHandler, type SendError } from "./error-handler.js";
