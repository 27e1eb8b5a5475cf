export { AppError, validationError } from "./app-error.js";
export { errorCodes } from "./error-codes.js";
export { errorHandler, notFoundHandler, type SendError } from "./error-handler.js";
