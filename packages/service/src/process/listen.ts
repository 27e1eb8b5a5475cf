import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Registry } from "prom-client";
import { type ConnectionLimits, Connections, connectionLimits } from "./connections.js";
import { createMessageClasses } from "./message-classes.js";

export interface ListenOptions {
  handler: RequestListener;
  host: string;
  port: number;
  /** The port's variable, for the message when the port is taken. */
  portVariable: string;
  /** Takes any free port instead of failing when the port is taken. */
  orAnyPort?: boolean;
  /** Counts open and cut connections. */
  registry?: Registry;
  /** Replaces {@link connectionLimits}. */
  limits?: Partial<ConnectionLimits>;
}

export interface Listening {
  readonly server: Server;
  readonly port: number;
  /**
   * Takes no more connections, lets requests in hand finish, closes connections between requests, and cuts the rest after
   * the time.
   */
  stop(drainTimeoutMs: number): Promise<void>;
  /** Some routes of requests in hand, or ended since a moment of `performance.now()`. */
  routesSince(moment: number): readonly string[];
}

/** The server cannot listen on an address; the message names the variable for another. */
export class ListenError extends Error {
  override name = "ListenError";
}

/** Opens an HTTP server with bounds on its connections. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { handler, host } = options;
  const limits = { ...connectionLimits, ...options.limits };
  const classes = createMessageClasses(handler, (response) => {
    setSecurityHeaders(response);
    connections.limitReuse(response);
  });
  const settings = {
    ...classes,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
  };
  const server = createServer(settings, (request, response) => {
    connections.begin(request.socket, response);
    // Of pipelined requests one is in hand at a time: a response waiting for the connection gets no event when it closes,
    // so its request would never release anything.
    if (response.socket) handler(request, response);
    else response.once("socket", () => handler(request, response));
  });
  const connections = new Connections(server, limits, options.registry);
  server.on("clientError", (error, socket) => refuseClient(error, socket, connections));
  try {
    await open(server, host, options.port);
  } catch (error) {
    if (!isAddressInUse(error) || !options.orAnyPort) throw explain(error, options);
    await open(server, host, 0);
  }
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    stop: (drainTimeoutMs) => connections.stop(drainTimeoutMs),
    routesSince: (moment) => connections.routesSince(moment),
  };
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

/** Headers of every answer: no guessing of types, no frames. `/docs` sets a policy with its own style. */
const nosniff = "nosniff";
const contentPolicy = "default-src 'none'; frame-ancestors 'none'";

function setSecurityHeaders(response: ServerResponse): void {
  response.setHeader("X-Content-Type-Options", nosniff);
  if (!response.hasHeader("Content-Security-Policy")) response.setHeader("Content-Security-Policy", contentPolicy);
}

/** Requests refused by Node's HTTP parser never reach a route; they get the error body of all others. */
function refuseClient(error: NodeJS.ErrnoException, socket: Duplex, connections: Connections): void {
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") connections.countSlowRequest();
  const answer = socket instanceof Socket ? connections.responseOn(socket) : undefined;
  const isAnswered = answer?.headersSent && !(answer.writableFinished && answer.req.complete);
  if (error.code === "ECONNRESET" || !socket.writable || isAnswered) {
    socket.destroy();
    return;
  }
  const [status, reason, text] = refusalOf(error);
  const body = JSON.stringify({ error: text });
  const head = [
    `HTTP/1.1 ${status} ${reason}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Content-Type-Options: ${nosniff}`,
    `Content-Security-Policy: ${contentPolicy}`,
    "Connection: close",
  ];
  // The client may leave its side open forever.
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function refusalOf(error: NodeJS.ErrnoException): [status: number, reason: string, text: string] {
  if (error.code === "HPE_HEADER_OVERFLOW")
    return [431, "Request Header Fields Too Large", "Request headers too large"];
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return [408, "Request Timeout", "The request took too long to arrive"];
  return [400, "Bad Request", "Malformed HTTP request"];
}
