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
export type { Delivery, Mail, Mailer } from "./mailer.js";
export { mailVariables, openMailer, readMailSettings } from "./open-mailer.js";
