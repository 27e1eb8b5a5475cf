export { AccountError, type Refusal } from "./account-error.js";
export {
  type Account,
  changeEmail,
  changePlan,
  createAccount,
  findAccount,
  findAccountByEmail,
  findPlan,
  listAccounts,
  readSlot,
} from "./accounts.js";
export { bareDomain, type DomainConflict, findDomainConflicts } from "./domain-claims.query.js";
export { type EraseControl, type Erased, eraseAccount, eraseDeletedSites, eraseOrphans, eraseSite } from "./erase.js";
export {
  countKeysByMaker,
  isLiveKeySql,
  issueKey,
  listKeys,
  readLiveKeys,
  renameKey,
  revokeKey,
  revokeKeysOf,
} from "./keys.js";
export { type Cells, finishMove, moveSlot, undoMove } from "./move/move-slot.js";
export { MoveError, readMoves } from "./move/slot-move.query.js";
export {
  claimSite,
  createSite,
  deleteSite,
  findSite,
  findSitesOfDomain,
  listAllSites,
  listSites,
  readSites,
  renameSite,
  type Site,
  type SiteState,
  shareSite,
} from "./sites.js";
export {
  changeKeep,
  countOwned,
  countOwnedBySite,
  type Owned,
  type OwnedBySite,
  readPlanUsage,
  readUsage,
  type Usage,
} from "./usage.js";
