export { AccountError, type Refusal } from "./account-error.js";
export {
  type Account,
  changeEmail,
  changeKeep,
  changePlan,
  countOwned,
  countOwnedBySite,
  createAccount,
  findAccount,
  findAccountByEmail,
  findPlan,
  listAccounts,
  type Owned,
  type OwnedBySite,
  readPlanUsage,
  readSlot,
  readUsage,
  type Usage,
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
