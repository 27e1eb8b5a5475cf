export { addressKey } from "./address-key.js";
export { createAddressReader, createProxyWatch, trustedProxiesVariable } from "./client-address.js";
export { createLimiter, type Limit, type Limiter } from "./create-limiter.js";
export type { Allowance } from "./memory-limiter.js";
