export { type BodyBudget, createBytesReader, type ReadBytes } from "./body/body-bytes.js";
export { createBodyReader, type JsonBody, parseJsonBody } from "./body/json-body.js";
export { createRefusals, type Refusals } from "./limits/refusals.js";
export { createShares, type Shares } from "./limits/shares.js";
export { createTurns, type Turn } from "./limits/turns.js";
export type { ApiDescription, OpenApiOperation } from "./openapi/openapi.js";
export { dashboardSignposts } from "./pages/dashboard-placeholders.js";
export { publicRoutes } from "./pages/public-routes.js";
export type { IdempotencyKey } from "./route/idempotency-key.js";
export { markRoute, requestContext, requestLog } from "./route/request-context.js";
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
} from "./route/route.js";
export { named } from "./schema/json-schema.js";
export { validate } from "./schema/validate.js";
