/**
 * On Node an `AsyncLocalStorage`, without an import for browser bundlers to fail on. In browsers `current` is always
 * undefined: handles alone nest spans.
 */
export function createContext<Value>() {
  let storage: { getStore(): Value | undefined; run<T>(value: Value, work: () => T): T } | null | undefined;
  const open = () => {
    if (storage === undefined) {
      const hooks = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:async_hooks");
      storage = hooks ? new hooks.AsyncLocalStorage<Value>() : null;
    }
    return storage;
  };
  return {
    current: () => open()?.getStore(),
    run<T>(value: Value, work: () => T): T {
      const opened = open();
      return opened ? opened.run(value, work) : work();
    },
  };
}

export type Clock = () => string;

/** A trace's clock starts at the system's time and only moves forward, so durations survive changes of the system's clock. */
export function createClock(): Clock {
  const startMs = Date.now();
  const origin = performance.now();
  return () => {
    const micros = Math.round((startMs + (performance.now() - origin)) * 1_000);
    const seconds = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, -1);
    return `${seconds}${String(micros % 1_000).padStart(3, "0")}Z`;
  };
}
