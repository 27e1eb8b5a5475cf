import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { readImport } from "./read-import.js";
import type { ReaderOptions, ReaderServices } from "./reader-services.js";
import { callThrough } from "./reader-services.js";

/** The beginning of a reader's own thread. */
if (parentPort) await readImport(workerData as ReaderOptions, callThrough<ReaderServices>(parentPort as MessagePort));
parentPort?.close();
