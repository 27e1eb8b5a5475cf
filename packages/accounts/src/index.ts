export { AccountError, type AccountErrorCode } from "./account-error.js";
export {
  type Account,
  changeEmail,
  createAccount,
  findAccount,
  findAccountByEmail,
  listAccounts,
} from "./accounts.js";
export { bareDomain, type DomainConflict, findDomainConflicts, maxUnprovenSites } from "./domain-claims.query.js";
export { type EraseControl, type Erased, eraseAccount, eraseDeletedSites, eraseOrphans, eraseSite } from "./erase.js";
export {
  issueKey,
  listKeys,
  maxKeysPerAccount,
  renameKey,
  revokeKey,
  revokeKeysOf,
} from "./keys.js";
export { readSlot } from "./lock-account.query.js";
export { MoveError } from "./move/move-error.js";
export { type Cells, finishMove, moveSlot, undoMove } from "./move/move-slot.js";
export { readMoves } from "./move/slot-move.query.js";
export { countOwned, countOwnedBySite, type Owned, type OwnedBySite } from "./owned.query.js";
export { changePlan, findPlan } from "./plan.query.js";
export { countKeysByMaker, readLiveKeys } from "./read-keys.query.js";
export { readSites, type SiteState } from "./read-sites.query.js";
export { shareSite } from "./share-site.js";
export {
  claimSite,
  createSite,
  deleteSite,
  findSite,
  findSitesOfDomain,
  listAllSites,
  listSites,
  maxSitesPerAccount,
  renameSite,
  type Site,
} from "./sites.js";
export { isLiveKeySql } from "./stored-key.js";
export { readPlanUsage, readUsage, type Usage } from "./usage.query.js";
