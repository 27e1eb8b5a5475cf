/** One part: five small files in place of it are larger together, and who opens one page often opens the next. */
export { BillingPage } from "./billing/billing-page.js";
export { ChannelsPage } from "./channels/channels-page.js";
export { KeysPage } from "./keys/keys-page.js";
export { TeamPage } from "./people/team-page.js";
export { SettingsPage } from "./settings/settings-page.js";
