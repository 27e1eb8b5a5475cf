export { listenForAccessChanges } from "./access-changes.js";
export { BackupError, backupSession } from "./backup/backup-format.js";
export { type BackupAge, readBackupAge, recordBackup } from "./backup/backup-record.query.js";
export { restoreBackup } from "./backup/restore-backup.js";
export { ensurePartitions, findPartitions, findTables, type Table } from "./backup/tables.query.js";
export { type VerifiedTable, verifyBackup } from "./backup/verify-backup.js";
export { writeBackup } from "./backup/write-backup.js";
export { binaryArray } from "./binary-array.js";
export { createGroupCommit, type GroupCommit } from "./group-commit/group-commit.js";
export {
  type Batched,
  type CreateGroupCommit,
  type GroupCommitOptions,
  type Refusal,
  rowIsLocked,
} from "./group-commit/options.js";
export {
  findSchemaProblem,
  type MigrateOptions,
  MigrationError,
  migrate,
  migrationsFolder,
  readMigrationNames,
} from "./migrate.js";
export {
  answerTimeoutMs,
  connectTimeoutMs,
  createPool,
  limitsOf,
  type PoolOptions,
  sendTogether,
  serviceTimeouts,
} from "./pool.js";
export { checkParameters, checkPooling, PoolingError } from "./pooling.js";
export { removeBatchSql } from "./remove-batch-sql.js";
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
export {
  breakConnection,
  inOwnTransaction,
  inTransaction,
  type Queryable,
  type TextTimes,
  textTimes,
  tryTransaction,
  withClient,
  withConnection,
  withTransaction,
} from "./transaction.js";
export { isDatabaseUnavailable, isMoving } from "./unavailable.js";
export { createUuidV7, formatUuid, idBounds, isUuid, smallestUuid, uuidV7Floor } from "./uuid.js";
