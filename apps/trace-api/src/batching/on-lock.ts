/** Whether a statement waits for locked rows or leaves them alone. */
export type OnLock = "wait" | "skip";

/** The end of a locking clause such as `FOR NO KEY UPDATE`. */
export const skipLockedSql = (onLock: OnLock) => (onLock === "skip" ? "SKIP LOCKED" : "");

/** The locking clause that keeps a trace `t` from deletion until the commit; none without `onLock`. */
export const keepTraceSql = (onLock: OnLock | undefined) =>
  onLock ? `FOR KEY SHARE OF t ${skipLockedSql(onLock)}` : "";
