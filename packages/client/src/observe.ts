import { currentTracing, type RunOptions, type Tracing } from "./span-handle.js";

export interface ObserveOptions<T> extends RunOptions<T> {
  /** Default the function's name. */
  name?: string | undefined;
  /** The agent of calls outside a trace; default the client's `agentId`, else the name. */
  agentId?: string | undefined;
  /** Whether to record arguments and result; default true. */
  capture?: boolean | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: the parameters of any function
export type AnyFunction = (this: any, ...args: any[]) => unknown;

/** Begins a trace of one call: of the agent that is given, else the client's, else the usual one, else the name. */
export type BeginCall = (
  agentId: string | undefined,
  name: string,
  usualAgentId?: string,
) => { tracing: Tracing; end(isFailed: boolean): void };

let newest: BeginCall | undefined;

export function setNewest(begin: BeginCall): void {
  newest = begin;
}

/** Where a call belongs: below the current span, else in a trace of its own of the client that was made last. */
export function currentOrNew(...call: Parameters<BeginCall>): ReturnType<BeginCall> | undefined {
  const tracing = currentTracing();
  return tracing ? { tracing, end: () => undefined } : newest?.(...call);
}

/**
 * The same function, whose calls are recorded with arguments, result, error and streams: below the current span, else each as a
 * trace of the client that was made last.
 */
export function observe<F extends AnyFunction>(work: F, options?: ObserveOptions<Awaited<ReturnType<F>>>): F {
  return observeWith(() => newest, work, options);
}

export function observeWith<F extends AnyFunction>(
  find: () => BeginCall | undefined,
  work: F,
  options: ObserveOptions<Awaited<ReturnType<F>>> = {},
): F {
  if (typeof work !== "function") return work;
  const { name = work.name || "(no name)", agentId, capture = true, ...run } = options;
  return new Proxy(work, {
    apply(target, self, args) {
      const call = () => Reflect.apply(target, self, args) as ReturnType<F>;
      const recorded: RunOptions<Awaited<ReturnType<F>>> = {
        ...(capture && args.length > 0 && { input: args.length === 1 ? args[0] : args }),
        ...(!capture && { output: () => undefined }),
        ...run,
      };
      const current = currentTracing();
      if (current) return current.runNow(name, call, recorded);
      const begun = find()?.(agentId, name);
      return begun ? begun.tracing.runNow(name, call, recorded, (error) => begun.end(error !== undefined)) : call();
    },
  });
}
