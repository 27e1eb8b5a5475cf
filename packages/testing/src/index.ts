export { describeWithChromium } from "./chromium.js";
export { useDatabase, useEmptyDatabase } from "./database.js";
export { describeWithRedis } from "./redis.js";
export { startResendStub } from "./resend-stub.js";
