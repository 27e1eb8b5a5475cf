export { AppError, type ErrorCode, errorCodes, tooMany, validationError } from "./app-error.js";
export { errorHandler, notFoundHandler, type SendError } from "./error-handler.js";
