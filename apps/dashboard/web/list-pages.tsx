/** One part, as of the account's pages. */
export { AlertsPage } from "./alerts/alerts-page.js";
export { ConversationPage } from "./conversations/conversation-page.js";
export { ConversationsPage } from "./conversations/conversations-page.js";
export { UsersPage } from "./conversations/users-page.js";
export { FailurePage } from "./failures/failure-page.js";
export { FailuresPage } from "./failures/failures-page.js";
