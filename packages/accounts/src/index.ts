export {
  type Account,
  AccountError,
  changeEmail,
  changePlan,
  createAccount,
  findAccount,
  findAccountByEmail,
  findPlan,
  listAccounts,
  type Refusal,
  readSlot,
} from "./accounts.js";
export { type EraseControl, type Erased, eraseAccount, eraseDeletedSites, eraseOrphans, eraseSite } from "./erase.js";
export { dropFactors } from "./identity/factors/drop-factors.query.js";
export {
  countKeysByMaker,
  isLiveKeySql,
  issueKey,
  listKeys,
  maxLinksPerAccount,
  readLiveKeys,
  readSharedLinks,
  renameKey,
  revokeKey,
  revokeKeysOf,
} from "./keys.js";
export { type Cells, finishMove, moveSlot, undoMove } from "./move/move-slot.js";
export { MoveError, readMoves } from "./move/slot-move.query.js";
export {
  bareDomain,
  claimSite,
  countCosts,
  createSite,
  type DomainConflict,
  deleteSite,
  findDomainConflicts,
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
