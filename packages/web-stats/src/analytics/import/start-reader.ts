import { existsSync } from "node:fs";
import { MessageChannel, Worker } from "node:worker_threads";
import { answerCalls, callThrough, RemoteError } from "./port-calls.js";
import { readImport } from "./read-import.js";
import type { ReaderOptions, ReaderServices } from "./reader-services.js";

/** Nothing of a line lives long, so a larger young generation only takes memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 6 };
const threadFile = new URL("./reader-thread.js", import.meta.url);

/**
 * Runs the reader of an import in a thread of its own. Without its compiled file beside this one, as in tests and in the npm
 * package, it runs in this thread.
 * @throws the first error of a service, or the reader's own
 */
export async function runReader(options: ReaderOptions, services: ReaderServices): Promise<void> {
  let failure: { readonly error: unknown } | undefined;
  const keep = (error: unknown) => {
    failure ??= { error };
  };
  try {
    await (existsSync(threadFile) ? runThread(options, services, keep) : runHere(options, services, keep));
  } catch (error) {
    throw failure ? failure.error : error;
  }
}

async function runThread(options: ReaderOptions, services: ReaderServices, onError: (error: unknown) => void) {
  const worker = new Worker(threadFile, { workerData: options, resourceLimits });
  answerCalls(worker, services, onError);
  try {
    await new Promise<void>((resolve, reject) => {
      worker.once("error", reject);
      worker.once("exit", (code) =>
        code === 0 ? resolve() : reject(new RemoteError("The reader's thread ended early")),
      );
    });
  } finally {
    await worker.terminate();
  }
}

async function runHere(options: ReaderOptions, services: ReaderServices, onError: (error: unknown) => void) {
  const { port1, port2 } = new MessageChannel();
  answerCalls(port1, services, onError);
  try {
    await readImport(options, callThrough<ReaderServices>(port2));
  } finally {
    port1.close();
  }
}
