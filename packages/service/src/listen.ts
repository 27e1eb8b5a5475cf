import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMessageClasses } from "./message-classes.js";

export interface ListenOptions {
  handler: RequestListener;
  host: string;
  port: number;
  /** How the port is configured, for the message when it is taken. */
  portVariable: string;
  /** With this, a taken port is answered by taking any free one instead of by failing. */
  orAnyPort?: boolean;
}

export interface Listening {
  readonly server: Server;
  readonly port: number;
  /** Takes no more connections, lets requests in hand finish, and cuts what still runs after the time. */
  stop(drainTimeoutMs: number): Promise<void>;
}

/** An address cannot be listened on; the message says which variable chooses another. */
export class ListenError extends Error {
  override name = "ListenError";
}

/** Opens an HTTP server. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const server = createServer(createMessageClasses(options.handler), options.handler);
  // Longer than the idle time of common proxies (60 s), so that the proxy, not we, closes first; else it answers 502.
  server.keepAliveTimeout = 65_000;
  server.headersTimeout = 66_000;
  server.on("clientError", refuseClient);
  try {
    await open(server, options.host, options.port);
  } catch (error) {
    if (!isAddressInUse(error) || !options.orAnyPort) throw explain(error, options);
    await open(server, options.host, 0);
  }
  const { port } = server.address() as AddressInfo;
  return { server, port, stop: (drainTimeoutMs) => close(server, drainTimeoutMs) };
}

function open(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function isAddressInUse(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EADDRINUSE";
}

function explain(error: unknown, { host, port, portVariable }: ListenOptions): ListenError {
  const address = `${host}:${port}`;
  const reason = isAddressInUse(error) ? "is taken by another process" : `cannot be listened on (${String(error)})`;
  return new ListenError(`${address} ${reason}. Set ${portVariable} to another port.`, { cause: error });
}

/** What Node's HTTP parser refuses never reaches a route; it gets the same body shape as every other error. */
function refuseClient(error: NodeJS.ErrnoException, socket: import("node:stream").Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason, text] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? [431, "Request Header Fields Too Large", "Request headers too large"]
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? [408, "Request Timeout", "The request took too long to arrive"]
        : [400, "Bad Request", "Malformed HTTP request"];
  const body = JSON.stringify({ error: text });
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function close(server: Server, drainTimeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), drainTimeoutMs);
    // Connections that were busy when the stop began stay open for their clients' next request; it is not taken any more.
    const sweep = setInterval(() => server.closeIdleConnections(), 20);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
  });
}
