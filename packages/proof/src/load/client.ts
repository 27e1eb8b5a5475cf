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

/** What became of requests; `wrong` counts answers that no fault excuses, as `500 POST /path`. */
interface Tally {
  requests: number;
  acknowledged: number;
  refused: number;
  /** Connections that broke or were refused. */
  broken: number;
  hung: number;
  wrong: Map<string, number>;
}

/** Sends requests and counts their ends. */
export interface Client {
  readonly tally: Tally;
  /** @returns the answer's body; undefined without a 2xx */
  once(url: string, request: Request): Promise<Answer | undefined>;
  /** Repeats a request until its 2xx. @returns undefined if the signal aborts before */
  untilAcknowledged(url: string, request: Request, signal: AbortSignal): Promise<Answer | undefined>;
}

interface Answer {
  body: Record<string, unknown>;
  ms: number;
}

function emptyTally(): Tally {
  return { requests: 0, acknowledged: 0, refused: 0, broken: 0, hung: 0, wrong: new Map() };
}

export function createClient(): Client {
  const tally = emptyTally();
  const once = async (url: string, request: Request): Promise<Answer | undefined> => {
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
        return { body: isJson ? JSON.parse(text) : {}, ms: performance.now() - startedAt };
      }
      if (refusals.includes(response.status)) tally.refused++;
      else
        count(tally.wrong, `${response.status} ${method} ${new URL(url).pathname.replaceAll(/[0-9a-f-]{36}/g, ":id")}`);
    } catch {
      if (signal.aborted) tally.hung++;
      else tally.broken++;
    }
    return undefined;
  };
  const untilAcknowledged = async (url: string, request: Request, signal: AbortSignal) => {
    for (;;) {
      const answer = await once(url, request);
      if (answer || signal.aborted) return answer;
      await wait(retryPauseMs);
    }
  };
  return { tally, once, untilAcknowledged };
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
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
