export type { AlertKey } from "./alert-key.js";
export { canAlert, insertAlertsSql, plansWithAlerts, returnAlertIdSql, setAlertIdSql } from "./alert-rule.js";
export { type Claim, claimAlert, findWait, type MailLimits } from "./claim-alert.query.js";
export { countUnsentAlerts } from "./count-unsent-alerts.query.js";
export { findUnqueuedAlerts } from "./find-unqueued-alerts.query.js";
export { type ListedAlert, listAlerts, retryAlert } from "./list-alerts.query.js";
export { measureAlerts } from "./measure-alerts.query.js";
export { maxAlertsTogether, type QueueAlertsDeps, queueAlerts } from "./queue-alerts.js";
export { type AlertWithTrace, alertStates, readAlertPage } from "./read-alert-page.query.js";
export { type PendingAlert, readPendingAlert } from "./read-pending-alert.query.js";
export { purgeAlertsSql } from "./remove-alerts.js";
export { type Attempt, settleAlert } from "./settle-alert.query.js";
export {
  claimSummary,
  findReadyAccounts,
  makeSummary,
  readSummary,
  type SummaryContent,
  type SummaryKey,
  settleSummary,
} from "./summaries.query.js";
