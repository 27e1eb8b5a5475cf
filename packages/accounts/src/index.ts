export {
  type Account,
  AccountError,
  changeEmail,
  changePlan,
  createAccount,
  findAccount,
  listAccounts,
} from "./accounts.js";
export { type DomainConflict, findDomainConflicts } from "./domain-claims.query.js";
export { type EraseControl, type Erased, eraseAccount, eraseOrphans, eraseSite } from "./erase.js";
export { type IssuedKey, issueKey, type ListedKey, listKeys, revokeKey } from "./keys.js";
export { countOwned } from "./owned.query.js";
export { createSite, findSite, listSites, renameSite, type Site } from "./sites.js";
export { readUsage, type Usage } from "./usage.query.js";
