import { createLogger, runProcess } from "@waymark/service";
import { loadConfig } from "./config.js";
import { startWorker } from "./start-worker.js";

const log = createLogger({ service: "worker", level: process.env["LOG_LEVEL"] });
await runProcess(process, log, async () => startWorker(loadConfig(process.env), log));
