import { setTimeout as wait } from "node:timers/promises";

/** A request without an answer after this time hangs: services refuse after ten seconds at most. */
const hangMs = 30_000;
const retryPauseMs = 100;

/** A refusal by which a client learns that it should send the request again. */
const refusals = [409, 429, 503];

interface Request {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
}

export type Client = ReturnType<typeof createClient>;

export function createClient() {
  const tally = {
    requests: 0,
    acknowledged: 0,
    refused: 0,
    /** Connections that broke or were refused. */
    broken: 0,
    hung: 0,
    /** Answers that no fault excuses, as `500 POST /path`, with their numbers. */
    wrong: {} as Record<string, number>,
  };
  /** @returns the answer's body; undefined without a 2xx */
  const once = async (url: string, request: Request) => {
    const { method = "GET", headers, body } = request;
    tally.requests++;
    const signal = AbortSignal.timeout(hangMs);
    const startedAt = performance.now();
    try {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const json = { "Content-Type": "application/json", ...headers };
      const response = await fetch(url, { method, headers: json, ...sent, signal, redirect: "manual" });
      const text = await response.text();
      if (response.status < 300) {
        tally.acknowledged++;
        const isJson = response.headers.get("content-type")?.includes("json");
        const read: Record<string, unknown> = isJson ? JSON.parse(text) : {};
        return { body: read, ms: performance.now() - startedAt };
      }
      const what = `${response.status} ${method} ${new URL(url).pathname.replaceAll(/[0-9a-f-]{36}/g, ":id")}`;
      if (refusals.includes(response.status)) tally.refused++;
      else tally.wrong[what] = (tally.wrong[what] ?? 0) + 1;
    } catch {
      if (signal.aborted) tally.hung++;
      else tally.broken++;
    }
    return undefined;
  };
  /** Repeats a request until its 2xx. @returns undefined if the signal aborts before */
  const untilAcknowledged = async (url: string, request: Request, signal: AbortSignal) => {
    for (;;) {
      const answer = await once(url, request);
      if (answer || signal.aborted) return answer;
      await wait(retryPauseMs);
    }
  };
  return { tally, once, untilAcknowledged };
}

/** Enough to fill group commits, as clients do together. */
const senders = 8;

/** Does a piece of work for each number below a count, several at once. */
export async function inParallel(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const sender = async () => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: senders }, sender));
}
