export { type BodyBudget, createBytesReader, type ReadBytes } from "./body-bytes.js";
export type { IdempotencyKey } from "./idempotency-key.js";
export { createBodyReader, type JsonBody, parseJsonBody } from "./json-body.js";
export { asParameter, named } from "./json-schema.js";
export type { ApiDescription, OpenApiOperation } from "./openapi.js";
export { publicRoutes } from "./public-routes.js";
export { createRefusals, type Refusals } from "./refusals.js";
export { markRoute, requestContext, requestLog } from "./request-context.js";
export {
  type Answer,
  type AnswerBudget,
  type DocumentedAnswer,
  errorSchema,
  mountRoutes,
  type Route,
  refuseMethod,
  route,
  validationErrorSchema,
} from "./route.js";
export { createShares, type Shares } from "./shares.js";
export { dashboardSignposts } from "./signposts.js";
export { createTurns, type Turn } from "./turns.js";
export { validate } from "./validate.js";
