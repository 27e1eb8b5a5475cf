import {
  createServer,
  IncomingMessage,
  type OutgoingHttpHeaders,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import { type AddressInfo, type Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Registry } from "prom-client";
import { type ConnectionLimits, Connections, connectionLimits } from "./connections.js";

interface ExpressApp {
  request: object;
  response: object;
}

/**
 * Makes the classes of a server's requests and responses. Express sets each message's prototype to its app's; a changed
 * prototype costs the message its shape, and all later property reads are slow. These messages start with the app's
 * prototypes, so Express changes nothing. On Node 20 that halves the CPU time of an idle Express app's request (420 to 171 µs
 * on a busy machine). On Node 24 and 26 nothing changes: once Node 20 is no longer supported, this function can go.
 * `pnpm bench traces --node=26` measures it. Subclasses: V8 optimises `new` of a class alone.
 */
export function createMessageClasses(handler: RequestListener, onHead: (response: ServerResponse) => void) {
  class Request extends IncomingMessage {}
  class Response<Of extends IncomingMessage> extends ServerResponse<Of> {
    override writeHead(statusCode: number, reasonOrHeaders?: unknown, headers?: unknown): this {
      onHead(this);
      return super.writeHead(statusCode, reasonOrHeaders as string, headers as OutgoingHttpHeaders);
    }
  }
  if (isExpressApp(handler)) {
    handler.request = inherit(Request.prototype, handler.request);
    handler.response = inherit(Response.prototype, handler.response);
  }
  return { IncomingMessage: Request, ServerResponse: Response };
}

function isExpressApp(handler: RequestListener): handler is RequestListener & ExpressApp {
  return "request" in handler && "response" in handler;
}

/** Gives a class's prototype the app's own properties, such as `app`, and Express's methods. */
function inherit(prototype: object, appPrototype: object): object {
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(appPrototype));
  return Object.setPrototypeOf(prototype, Object.getPrototypeOf(appPrototype));
}

export interface ListenOptions {
  handler: RequestListener;
  host: string;
  port: number;
  portVariable: string;
  orAnyPort?: boolean;
  registry?: Registry;
  limits?: Partial<ConnectionLimits>;
}

export interface Listening {
  readonly server: Server;
  readonly port: number;
  /** Lets requests in hand finish, closes connections between requests, and cuts the rest after the time. */
  stop(drainTimeoutMs: number): Promise<void>;
  /** Some routes of requests in hand, or ended since a moment of `performance.now()`. */
  routesSince(moment: number): readonly string[];
}

/** The server cannot listen on an address; the message names the variable for another. */
export class ListenError extends Error {
  override name = "ListenError";
}

export async function listen(options: ListenOptions): Promise<Listening> {
  const { handler } = options;
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
  let port: number;
  try {
    port = await bind(server, options);
  } catch (error) {
    if (!isAddressInUse(error) || !options.orAnyPort) throw error;
    port = await bind(server, { ...options, port: 0 });
  }
  return {
    server,
    port,
    stop: (drainTimeoutMs) => connections.stop(drainTimeoutMs),
    routesSince: (moment) => connections.routesSince(moment),
  };
}

export function bind(
  server: NetServer,
  { host, port, portVariable }: Pick<ListenOptions, "host" | "port" | "portVariable">,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(explain(error, `${host}:${port}`, portVariable));
    server.once("error", fail);
    server.listen({ host, port }, () => {
      server.off("error", fail);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

export function isAddressInUse(error: unknown): boolean {
  const { code } = (error instanceof ListenError ? error.cause : error) as NodeJS.ErrnoException;
  return code === "EADDRINUSE";
}

function explain(error: unknown, address: string, portVariable: string): ListenError {
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
