export { addressKey, createAddressReader, createProxyWatch, trustedProxiesVariable } from "./client-address.js";
export type { Allowance } from "./create-limiter.js";
export { createLimiter, type Limit, type Limiter } from "./create-limiter.js";
