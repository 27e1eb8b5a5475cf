export type { AlertKey } from "./alert-key.js";
export { canAlert, insertAlertsSql, plansWithAlerts, returnAlertIdSql, setAlertIdSql } from "./alert-rule.js";
export { maxAlertsTogether, type QueueAlertsDeps, queueAlerts } from "./queue-alerts.js";
