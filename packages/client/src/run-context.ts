/** Knows in which run a piece of code is called, where the platform can tell. */
export interface RunContext<Value> {
  current(): Value | undefined;
  run<T>(value: Value, work: () => T): T;
}

/**
 * On Node an `AsyncLocalStorage`, taken without an import, so that bundlers for browsers find nothing to stumble over. Browsers
 * cannot tell: there `current` is always undefined, and nesting is by the handle that a run gets.
 */
export function createRunContext<Value>(): RunContext<Value> {
  const hooks = typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:async_hooks");
  if (!hooks) return { current: () => undefined, run: (_value, work) => work() };
  const storage = new hooks.AsyncLocalStorage<Value>();
  return { current: () => storage.getStore(), run: (value, work) => storage.run(value, work) };
}
