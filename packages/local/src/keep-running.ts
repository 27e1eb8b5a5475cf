import type { AppProcess } from "./app-process.js";

interface KeepRunningOptions {
  start(): AppProcess;
  say(line: string): void;
  onRestart(): Promise<void>;
  /** Waits between an end and the next start; ends early with the signal. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  now(): number;
}

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

/** After this time without an end, the pauses begin anew. */
const steadyMs = 60_000;

/**
 * Starts an app, and starts it again whenever it ends: after 1 s, then 2, 4 and so on to 30 s while it keeps ending.
 * @returns the app; its `ended` resolves only when it ends before it was ready for the first time
 */
export function keepRunning({ start, say, onRestart, pause, now }: KeepRunningOptions): AppProcess {
  let current = start();
  const first = current;
  const stopped = new AbortController();
  let pauseMs = firstPauseMs;
  const watch = async () => {
    await first.ready;
    for (let since = now(); !stopped.signal.aborted; since = now()) {
      const how = await current.ended;
      pauseMs = now() - since < steadyMs ? pauseMs : firstPauseMs;
      say(`${how}\n${first.name}: starts again in ${pauseMs / 1_000} s; the other apps keep running.`);
      await pause(pauseMs, stopped.signal);
      if (stopped.signal.aborted) return;
      pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      current = start();
      await onRestart();
      current.ready.then(
        () => say(`${first.name}: runs again.`),
        () => undefined,
      );
    }
  };
  // Without a first `ready` there is nothing to keep: `ended` tells the end.
  watch().catch(() => undefined);
  return {
    name: first.name,
    get identity() {
      return current.identity;
    },
    ready: first.ready,
    ended: new Promise((resolve) => {
      first.ready.catch(async () => resolve(await first.ended));
    }),
    async stop(timeoutMs) {
      stopped.abort();
      await current.stop(timeoutMs);
    },
  };
}
