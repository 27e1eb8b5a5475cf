export {
  type Account,
  AccountError,
  changeEmail,
  changePlan,
  createAccount,
  findAccount,
  listAccounts,
} from "./accounts.js";
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
export { type IssuedKey, issueKey, type ListedKey, listKeys, revokeKey } from "./issue-key.js";
export { createKeyDirectory, type KeyDirectory, type KeyDirectoryOptions } from "./key-directory.js";
