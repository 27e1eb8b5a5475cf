import { createLogger, type ProcessLike, runProcess, warnOfSettings } from "@waymark/service";
import { loadConfig } from "./config.js";
import { startWorker } from "./start-worker.js";

export function run(node: ProcessLike): Promise<void> {
  const log = createLogger({ service: "worker", level: node.env["LOG_LEVEL"], destination: node.log });
  return runProcess(node, log, async () => {
    const config = loadConfig(node.env);
    warnOfSettings(log, config.notices);
    return startWorker(config, log);
  });
}
