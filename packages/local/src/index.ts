export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from "./embedded-postgres.js";
export { anyFreePort, isPortFree } from "./ports.js";
