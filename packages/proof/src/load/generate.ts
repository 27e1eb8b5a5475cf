import { percentile } from "@waymark/local/figures";
import autocannon from "autocannon";

export interface LoadRequest {
  method: "GET" | "POST" | "PATCH";
  path: string;
  headers: Record<string, string>;
  /** A function makes a new body for each request. */
  body?: string | (() => Buffer);
}

export interface Load {
  port: number;
  connections: number;
  /** The requests of a connection, repeated in this order. */
  requestsOf(connection: number): readonly LoadRequest[];
  until: { seconds: number } | { requests: number };
}

export interface Seen {
  seconds: number;
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  acknowledged: number;
  /** Other answers, and requests without one. */
  errors: number;
}

function toAutocannon({ body, ...request }: LoadRequest): autocannon.Request {
  if (typeof body !== "function") return { ...request, ...(body !== undefined && { body }) };
  return { ...request, setupRequest: (each) => ({ ...each, body: body() }) };
}

/** Sends requests over parallel connections; each waits for an answer before its next request. */
export async function generate(load: Load): Promise<Seen> {
  const durations: number[] = [];
  let acknowledged = 0;
  let connection = 0;
  const startedAt = performance.now();
  let endedAt = startedAt;
  const options: autocannon.Options = {
    url: `http://127.0.0.1:${load.port}`,
    connections: load.connections,
    ...("seconds" in load.until ? { duration: load.until.seconds } : { amount: load.until.requests }),
    setupClient: (client) => client.setRequests(load.requestsOf(connection++).map(toAutocannon)),
  };
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error, end) => (error ? reject(error) : resolve(end)));
    instance.on("response", (_client, statusCode, _bytes, responseTime) => {
      durations.push(responseTime);
      if (statusCode >= 200 && statusCode < 300) acknowledged++;
      endedAt = performance.now();
    });
  });
  const seconds = (endedAt - startedAt) / 1000;
  return {
    seconds,
    requestsPerSecond: durations.length / seconds,
    p50Ms: percentile(durations, 0.5),
    p99Ms: percentile(durations, 0.99),
    acknowledged,
    errors: durations.length - acknowledged + result.errors + result.timeouts,
  };
}
