export {
  type AlertKey,
  canAlert,
  insertAlertsSql,
  plansWithAlerts,
  returnAlertIdSql,
  setAlertIdSql,
} from "./alert-rule.js";
export {
  alertModes,
  changeAlertSettings,
  readAlertSettings,
} from "./channels/alert-settings.query.js";
export { alertStatuses, type ChannelInput } from "./channels/channel.js";
export {
  confirmChannel,
  createChannel,
  deleteChannel,
  listChannels,
  listDeliveries,
  resendChannelLink,
  testChannel,
} from "./channels/channels.query.js";
export { type DeliverySort, deliveryIdOf } from "./channels/claim-delivery.query.js";
export { channelKinds, kindChoices } from "./channels/kinds.js";
export type { MailLimits } from "./channels/own-mail.query.js";
export { tellRecoveries } from "./channels/recoveries.query.js";
export { routeAlerts } from "./channels/route-alerts.query.js";
export {
  alertStates,
  listAlerts,
  readAlertPage,
  retryAlert,
} from "./list-alerts.query.js";
export { countUnsentAlerts, measureAlerts } from "./measure-alerts.query.js";
export { createMute, deleteMute, listMutes, muteFailures } from "./mutes/mutes.query.js";
export {
  lastPeriod,
  type Pair,
  type ReportContent,
  type ReportPeriod,
  reportPeriods,
  type SiteReport,
} from "./reports/report.js";
export {
  enqueueReport,
  listAccountsToReport,
  readOwnReport,
  setOwnReport,
  stopReport,
} from "./reports/reports.query.js";
export { evaluateRules, type RuleSource, ruleSources } from "./rules/evaluate-rules.query.js";
export { costPeriods, createRule, deleteRule, type ListedRule, listRules } from "./rules/rules.query.js";
