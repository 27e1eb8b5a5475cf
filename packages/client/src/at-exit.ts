/** What a client does before its process ends. */
export interface ExitWork {
  /** Whether something waits to be sent. */
  isNeeded(): boolean;
  run(): Promise<void>;
}

/**
 * On Node, does the work when the event loop has run empty, and where asked also on signals, which then end the process as
 * they would have. Elsewhere this does nothing.
 * @returns takes it back
 */
export function atExit(work: ExitWork, onSignals: boolean): () => void {
  if (typeof process === "undefined" || typeof process.on !== "function") return () => undefined;
  const beforeExit = () => {
    if (work.isNeeded()) void work.run();
  };
  const signals: NodeJS.Signals[] = onSignals ? ["SIGINT", "SIGTERM"] : [];
  const onSignal = (signal: NodeJS.Signals) => {
    remove();
    void work.run().finally(() => {
      // Another listener has taken over what the signal does.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  };
  const remove = () => {
    process.off("beforeExit", beforeExit);
    for (const signal of signals) process.off(signal, onSignal);
  };
  process.on("beforeExit", beforeExit);
  for (const signal of signals) process.on(signal, onSignal);
  return remove;
}
