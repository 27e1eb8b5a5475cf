export {
  createApiKey,
  hashApiKey,
  isApiKeyOf,
  type KeyService,
  keyPrefixes,
  keyServices,
  type NewApiKey,
} from "./api-key.js";
export { authenticate, principalOf } from "./authenticate.js";
export type { Principal } from "./find-key.query.js";
export { createKeyDirectory, type KeyDirectory, type KeyDirectoryOptions } from "./key-directory.js";
