export { useDatabase, useEmptyDatabase, useRolePrefix, useServiceRole } from "./database.js";
export { addHeavyDay } from "./heavy-day.js";
export { useInstances } from "./instances.js";
export { type RunningApp, useProcesses } from "./processes.js";
export { describeWithChromium, describeWithProgram } from "./programs.js";
export { describeWithRedis } from "./redis.js";
export { startResendStub } from "./resend-stub.js";
export { databaseVariables, directUrlOf } from "./test-server.js";
export { watched } from "./watched.js";
