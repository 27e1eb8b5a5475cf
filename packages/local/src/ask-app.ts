import { setTimeout } from "node:timers/promises";
import type { AppName } from "./settings.js";

interface Request {
  app: AppName;
  url: string;
  signal: AbortSignal;
  /** How long to try: as long as an app may take to start. */
  limitMs?: number;
}

const pauseMs = 100;

/**
 * Asks an app, and again while it is away or not ready: with `dev`, each save restarts an app.
 * @throws Error naming the app, the address and the cause after the limit
 */
export async function askApp({ app, url, limitMs = 30_000, signal }: Request): Promise<Response> {
  const until = Date.now() + limitMs;
  for (;;) {
    let cause: string;
    try {
      const answer = await fetch(url, { signal });
      if (answer.status !== 503) return answer;
      cause = `503 ${await answer.text()}`;
    } catch (error) {
      signal.throwIfAborted();
      cause = causeOf(error as Error);
    }
    if (Date.now() >= until) {
      throw new Error(`The ${app} did not become ready within ${limitMs / 1_000} s, at ${url}: ${cause}`);
    }
    await setTimeout(pauseMs, undefined, { signal });
  }
}

/** `fetch` keeps the reason, such as a refused connection, in the cause. */
function causeOf({ message, cause }: Error): string {
  return (cause as Error | undefined)?.message ?? message;
}
