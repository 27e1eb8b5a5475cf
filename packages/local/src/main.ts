import { runStart } from "./run-start.js";

await runStart(process);
