export { AppError, type ErrorCode, validationError } from "./app-error.js";
export { errorHandler, notFoundHandler, type SendError } from "./error-handler.js";
