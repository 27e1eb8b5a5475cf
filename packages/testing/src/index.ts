export { built } from "./built.js";
export { useDatabase, useEmptyDatabase, useRolePrefix, useServiceRole } from "./database.js";
export { addHeavyDay } from "./heavy-day.js";
export { type RunningApp, useInstances, useProcesses } from "./processes.js";
export { describeWithChromium, describeWithProgram, describeWithRedis } from "./programs.js";
export { randomRuns } from "./random-runs.js";
export { type Answer, startReceiver, startResendStub } from "./receiver.js";
export { databaseVariables, directUrlOf } from "./test-server.js";
export { watched } from "./watched.js";
