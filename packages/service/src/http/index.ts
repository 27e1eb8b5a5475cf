export { type BodyBudget, createBytesReader } from "./body/body-bytes.js";
export { createBodyReader, type JsonBody, mediaTypeOf, parseJsonInSteps, shapeJson } from "./body/json-body.js";
export { createRefusals, createShares, type Refusals } from "./limits/shares.js";
export { createTokenBuckets } from "./limits/token-buckets.js";
export { createTurns, createWorkShares, inSteps, type WorkShares } from "./limits/work-shares.js";
export { type ApiDescription, describeApi, type OpenApiDocument, type OpenApiOperation } from "./openapi/openapi.js";
export { dashboardRoutes, healthRoutes, publicRoutes } from "./pages/public-routes.js";
export type { IdempotencyKey } from "./route/idempotency-key.js";
export { createExpress, mountRoutes, refuseMethod } from "./route/mount-routes.js";
export { createQueryReader, nearestOf } from "./route/read-query.js";
export { markRoute } from "./route/request-context.js";
export { type Answer, type DocumentedAnswer, type EncodedBody, pageRoute, type Route, route } from "./route/route.js";
export { type AnswerBudget, isKnownTag, sendAnswer } from "./route/send-answer.js";
export {
  errorSchema,
  type JsonSchema,
  type NamedSchemas,
  named,
  resolveSchema,
  toJsonSchema,
  validationErrorSchema,
} from "./schema/json-schema.js";
