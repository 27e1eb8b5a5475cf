export { type Attempt, giveUp, leaseMs, neverSent, pause } from "../attempt.js";
export { footer } from "../channels/mail/mail-layout.js";
export { createDeliverer } from "./deliver-events.js";
export { judgeMail } from "./judge-mail.js";
export { post } from "./post.js";
export { createSendDelivery } from "./send-delivery.js";
