interface ExitWork {
  isNeeded(): boolean;
  run(): Promise<void>;
}

/**
 * On Node, runs the work when the event loop is empty, and on signals before they end the process. Elsewhere does nothing.
 * @returns a function that removes the listeners
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
      // With another listener, that one decides what the signal does.
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
