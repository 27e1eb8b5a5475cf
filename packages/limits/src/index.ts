export { addressKey } from "./address-key.js";
export { createAddressReader, trustedProxiesVariable } from "./client-address.js";
export { createLimiter, type Limiter } from "./create-limiter.js";
