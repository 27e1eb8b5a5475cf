export { amount, isNightly, randomRuns, resultOf } from "./amounts.js";
export { built } from "./built.js";
export { useDatabase, useEmptyDatabase, useRolePrefix, useServiceRole } from "./database.js";
export { addHeavyDay } from "./heavy-day.js";
export { type RunningApp, useInstances, useProcesses } from "./processes.js";
export { chromiumFlags, describeWithChromium, describeWithProgram, describeWithRedis } from "./programs.js";
export { type Answer, startReceiver, startResendStub } from "./receiver.js";
export { databaseVariables, directUrlOf } from "./test-server.js";
export { watched } from "./watched.js";
