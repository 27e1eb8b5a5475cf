export { createAccessCache } from "./access-cache.js";
export {
  bearerToken,
  createApiKey,
  hashApiKey,
  type KeyKind,
  type KeyScope,
  type KeyService,
  keyScopes,
  keyServices,
} from "./api-key.js";
export { authenticate, requirePresent } from "./authenticate.js";
export type { Principal } from "./find-key.query.js";
export { createKeyDirectory, type KeyDirectory } from "./key-directory.js";
export { principalOf, requireScope, scopeProblem, sufficientScopes } from "./principal-of.js";
export { addressOf, allSlots, cellSlotsVariable, drawSlot, firstSlot, parseSlots, type Slots } from "./slots.js";
