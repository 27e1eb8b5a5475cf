export { composeAccountMail } from "./compose-account-mail.js";
export {
  bounds,
  countOf,
  cut,
  escapeHtml,
  formatDuration,
  formatMoment,
  oneLine,
  printable,
  styles,
} from "./mail-text.js";
export { mailVariables, readMailSettings } from "./mail-variables.js";
export type { Delivery, Mail, Mailer } from "./mailer.js";
export { openMailer } from "./open-mailer.js";
