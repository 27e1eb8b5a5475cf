import type { Buffer } from "node:buffer";
import type { ImportOptions } from "./import-options.js";

/** The bytes of an import, a part at a time. The signal also ends a wait for bytes that may never come. */
export function openInput({ input, signal }: Pick<ImportOptions, "input" | "signal">) {
  const iterator = input[Symbol.asyncIterator]();
  let last: Promise<Buffer | null> = Promise.resolve(null);
  const read = async () => {
    signal?.throwIfAborted();
    const { done, value } = await orAborted(iterator.next(), signal);
    return done ? null : value;
  };
  return {
    /** @returns null at the end */
    next(): Promise<Buffer | null> {
      last = last.then(read);
      return last;
    },
    close(): void {
      // Not awaited: a silent input may never end either.
      iterator.return?.()?.catch(() => undefined);
    },
  };
}

/** The result of the work, or the signal's reason. A race with one promise for all waits would keep every result. */
function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
