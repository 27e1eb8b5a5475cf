import { runChaos } from "./run-chaos.js";

process.exitCode = await runChaos(process.argv.slice(2));
