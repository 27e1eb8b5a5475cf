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
export {
  type Delivery,
  type Mail,
  type Mailer,
  type MailSettings,
  mailVariables,
  openMailer,
  readMailSettings,
} from "./mailer.js";
