import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/**
 * What becomes of a request: `pass`; `drop-answer` forwards it and, when the service has answered, breaks the connection
 * instead; a status is answered in the service's place.
 */
export type Fate = "pass" | "drop-answer" | { status: number; headers?: Record<string, string>; body?: unknown };

/** A proxy between a client and the service, whose faults a test decides. */
export interface FaultyProxy {
  readonly url: string;
  /** How many requests came, and how many answers of the service were dropped. */
  readonly counts: { requests: number; dropped: number };
  close(): Promise<void>;
}

/**
 * Opens a proxy to a port of this machine.
 * @param decide told which request it is, counted from 1, and its method and path
 */
export async function openFaultyProxy(
  port: number,
  decide: (count: number, what: string) => Fate,
): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true });
  const counts = { requests: 0, dropped: 0 };
  const server = createServer((incoming, outgoing) => {
    const fate = decide(++counts.requests, `${incoming.method} ${incoming.url}`);
    if (typeof fate === "object") return answer(incoming, outgoing, fate);
    forward(incoming, agent, port)
      .then(({ status, headers, body }) => {
        if (fate === "pass") return outgoing.writeHead(status, headers).end(body);
        counts.dropped++;
        return incoming.socket.destroy();
      })
      .catch(() => incoming.socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    async close() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
      await once(server, "close");
    },
  };
}

async function forward(incoming: IncomingMessage, agent: Agent, port: number) {
  const { method, url, headers } = incoming;
  const upstream = request({ host: "127.0.0.1", port, agent, method, path: url, headers });
  upstream.end(await buffer(incoming));
  const [response] = (await once(upstream, "response")) as [IncomingMessage];
  return { status: response.statusCode ?? 502, headers: response.headers, body: await buffer(response) };
}

function answer(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body }: Exclude<Fate, string>,
): void {
  incoming.resume().once("end", () => outgoing.writeHead(status, headers).end(JSON.stringify(body ?? {})));
}
