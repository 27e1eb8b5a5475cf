export { listenForAccessChanges } from "./access-changes.js";
export { binaryArray } from "./binary-array.js";
export { createGroupCommit, type GroupCommit } from "./group-commit/group-commit.js";
export {
  type Batched,
  type CreateGroupCommit,
  rowIsLocked,
} from "./group-commit/options.js";
export type { Refusal } from "./group-commit/waiting-limits.js";
export { MigrationError, migrate, migrationsFolder } from "./migrate.js";
export { answerTimeoutMs, connectTimeoutMs, createPool, type PoolOptions, serviceTimeouts } from "./pool.js";
export {
  byRole,
  grantRoles,
  queueSchema,
  RolePasswordError,
  type RolePasswords,
  readRolePasswords,
  rolePasswordVariables,
  roleUrl,
} from "./roles.js";
export { inTransaction, withConnection, withTransaction } from "./transaction.js";
export { isDatabaseUnavailable } from "./unavailable.js";
export { createUuidV7, formatUuid, isUuid, smallestUuid, uuidV7Floor } from "./uuid.js";
