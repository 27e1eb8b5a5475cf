export { type AppProcess, startApp } from "./app-process.js";
export { createRandom } from "./demo/random.js";
export { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-postgres.js";
export { keepRunning } from "./keep-running.js";
export { anyFreePort } from "./ports.js";
export { readRolePasswordFile } from "./role-passwords.js";
