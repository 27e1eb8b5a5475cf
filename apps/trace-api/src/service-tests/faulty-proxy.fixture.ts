import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/**
 * The proxy's treatment of a request: `pass`; `drop-answer` forwards it and breaks the connection instead of answering; a
 * refusal replaces the service's answer.
 */
export type Fate = "pass" | "drop-answer" | Refusal;

export interface Refusal {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Whether the service gets the request nevertheless. */
  isPassedOn?: boolean;
}

export interface FaultyProxy {
  readonly url: string;
  readonly counts: { requests: number; dropped: number };
  /** The answered requests in order: their content encoding and the status of the answer. */
  readonly seen: { encoding: string | undefined; status: number }[];
  close(): Promise<void>;
}

/**
 * Opens a proxy to a port of this machine.
 * @param decide receives the number of the request, from 1, and its method and path
 */
export async function openFaultyProxy(
  port: number,
  decide: (count: number, what: string) => Fate,
): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true });
  const counts = { requests: 0, dropped: 0 };
  const seen: FaultyProxy["seen"] = [];
  const server = createServer((incoming, outgoing) => {
    const fate = decide(++counts.requests, `${incoming.method} ${incoming.url}`);
    const note = (status: number) => seen.push({ encoding: incoming.headers["content-encoding"], status });
    if (typeof fate === "object" && !fate.isPassedOn) {
      note(fate.status);
      return void incoming.resume().once("end", () => refuse(outgoing, fate));
    }
    forward(incoming, agent, port)
      .then(({ status, headers, body }) => {
        if (fate === "drop-answer") {
          counts.dropped++;
          return incoming.socket.destroy();
        }
        note(typeof fate === "object" ? fate.status : status);
        return typeof fate === "object" ? refuse(outgoing, fate) : outgoing.writeHead(status, headers).end(body);
      })
      .catch(() => incoming.socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    seen,
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

function refuse(outgoing: ServerResponse, { status, headers, body }: Refusal): void {
  outgoing.writeHead(status, headers).end(JSON.stringify(body ?? {}));
}
