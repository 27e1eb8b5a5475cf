export { describeWithChromium } from "./chromium.js";
export { type TestDatabase, templateDatabase, useDatabase, useEmptyDatabase } from "./database.js";
export { describeWithRedis, testRedisUrl } from "./redis.js";
