export { leaseMs, neverSent } from "../attempt.js";
export { asMail } from "../channels/mail/mail-layout.js";
export { composeTrace } from "./compose-message.js";
export { composeSummary } from "./compose-summary.js";
export { createDeliverer } from "./deliver-events.js";
export { judgeMail } from "./judge-answer.js";
export { post } from "./post.js";
export { createSendDelivery } from "./send-delivery.js";
