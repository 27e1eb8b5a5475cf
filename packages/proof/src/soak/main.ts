import { runSoak } from "./run-soak.js";

process.exitCode = await runSoak(process.argv.slice(2));
