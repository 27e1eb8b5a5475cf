#!/usr/bin/env node
// `pnpm start`: all of Waymark on this machine.
import { runStart } from "../dist/run-start.js";

await runStart(process);
