export { addressKey, createAddressReader, createProxyWatch, trustedProxiesVariable } from "./client-address.js";
export { createLimiter, type Limit, type Limiter } from "./create-limiter.js";
