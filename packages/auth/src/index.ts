export { createAccessCache } from "./access-cache.js";
export {
  createApiKey,
  hashApiKey,
  type KeyScope,
  type KeyService,
  keyScopes,
  keyServices,
} from "./api-key.js";
export {
  authenticate,
  bearerToken,
  principalOf,
  requireScope,
  scopeProblem,
  sufficientScopes,
} from "./authenticate.js";
export type { Principal } from "./find-key.query.js";
export { createKeyDirectory, type KeyDirectory } from "./key-directory.js";
export { addressOf, allSlots, cellSlotsVariable, drawSlot, firstSlot, parseSlots, type Slots } from "./slots.js";
