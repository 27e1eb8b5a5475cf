export type { IdempotencyKey } from "./idempotency-key.js";
export { createBodyReader, type JsonBody } from "./json-body.js";
export type { ApiDescription } from "./openapi.js";
export { publicRoutes } from "./public-routes.js";
export { requestContext, requestLog } from "./request-context.js";
export { type Answer, createRouter, type DocumentedAnswer, errorSchema, type Route, route } from "./route.js";
export { validate } from "./validate.js";
