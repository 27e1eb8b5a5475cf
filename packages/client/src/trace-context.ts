export interface TraceContext<Value> {
  current(): Value | undefined;
  run<T>(value: Value, work: () => T): T;
}

/**
 * On Node an `AsyncLocalStorage`, without an import for browser bundlers to fail on. In browsers `current` is always
 * undefined: handles alone nest spans.
 */
export function createTraceContext<Value>(): TraceContext<Value> {
  const hooks = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:async_hooks");
  if (!hooks) return { current: () => undefined, run: (_value, work) => work() };
  const storage = new hooks.AsyncLocalStorage<Value>();
  return { current: () => storage.getStore(), run: (value, work) => storage.run(value, work) };
}
