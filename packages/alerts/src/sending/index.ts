export { createDeliverer } from "./deliver-events.js";
export { post } from "./post.js";
export { createSendDelivery } from "./send-delivery.js";
