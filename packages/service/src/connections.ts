import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Counter, Gauge, type Registry } from "prom-client";

/** What one connection, and all of them together, may take. */
export interface ConnectionLimits {
  /** Open connections; one more is closed at once. 4,000 with an unfinished body each held 60 MiB in the collector. */
  maxConnections: number;
  /** A request's head has to arrive within this. */
  headersTimeoutMs: number;
  /** A request has to arrive whole within this. */
  requestTimeoutMs: number;
  /** How often connections are looked at for the two above. */
  checkIntervalMs: number;
  /** An answer is cut when its client has taken nothing of it for so long. */
  stallTimeoutMs: number;
  /** Longer than the idle time of common proxies (60 s), so that the proxy, not we, closes first; else it answers 502. */
  keepAliveTimeoutMs: number;
  /** While the server stops, a connection is closed when nothing has happened on it for so long. */
  stopIdleMs: number;
}

export const connectionLimits: ConnectionLimits = {
  maxConnections: 4_000,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 30_000,
  checkIntervalMs: 1_000,
  stallTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  stopIdleMs: 1_000,
};

/** While the server stops, how often connections are looked at. */
const sweepIntervalMs = 50;

interface Connection {
  /** The latest response on it. */
  response: ServerResponse | undefined;
  /** While the server stops: the bytes read when it was looked at last, and since when nothing has happened on it. */
  bytesRead: number;
  quietSince: number;
}

/** The connections of a server: bounds them, and closes them between requests when the server stops. */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly cut: Counter<"reason"> | undefined;
  private isStopping = false;

  constructor(
    private readonly server: Server,
    private readonly limits: ConnectionLimits,
    registry: Registry | undefined,
  ) {
    if (registry) this.cut = this.register(registry);
    server.maxConnections = limits.maxConnections;
    server.on("connection", (socket) => {
      this.open.set(socket, { response: undefined, bytesRead: -1, quietSince: 0 });
      socket.once("close", () => this.open.delete(socket));
    });
    // Node's timer goes on as long as the client takes something: it fires after `stallTimeoutMs` without progress.
    server.timeout = limits.stallTimeoutMs;
    server.on("timeout", (socket) => {
      if (this.isAnswering(socket)) this.cut?.inc({ reason: "stalled_answer" });
      socket.destroy();
    });
    server.on("drop", () => this.cut?.inc({ reason: "too_many" }));
  }

  /** Notes the response that a connection is to carry. */
  begin(socket: Socket, response: ServerResponse): void {
    const connection = this.open.get(socket);
    if (connection) connection.response = response;
  }

  /** The response that a connection carries or carried last. */
  responseOn(socket: Socket): ServerResponse | undefined {
    return this.open.get(socket)?.response;
  }

  countSlowRequest(): void {
    this.cut?.inc({ reason: "slow_request" });
  }

  /**
   * Tells the client to send no other request on the connection where the server stops, or where half of all connections are
   * open: then idle ones must make room. A request that is still arriving keeps its connection, since closing it would
   * discard what arrives and reset the connection before the client has read its answer.
   */
  limitReuse(response: ServerResponse): void {
    const isCrowded = this.open.size > this.limits.maxConnections / 2;
    if ((this.isStopping || isCrowded) && !isArriving(response.req)) response.setHeader("Connection", "close");
  }

  /**
   * Stops listening, and resolves when all connections are closed. Answers close their connections from now on. A client that
   * holds an idle one may be sending a request this very moment, so that it is closed only after it has been quiet for
   * `stopIdleMs`. After the time all are cut.
   */
  stop(drainTimeoutMs: number): Promise<void> {
    this.isStopping = true;
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.destroyAll(), drainTimeoutMs);
      // After the event loop has read from all sockets: what has arrived by then counts.
      const sweep = setInterval(() => setImmediate(() => this.closeQuiet()), sweepIntervalMs);
      // Not the HTTP server's own method, which closes idle connections at once.
      NetServer.prototype.close.call(this.server, () => {
        clearTimeout(cut);
        clearInterval(sweep);
        resolve();
      });
    });
  }

  private closeQuiet(): void {
    const now = performance.now();
    for (const [socket, connection] of this.open) {
      if (this.isAnswering(socket) || connection.bytesRead !== socket.bytesRead) {
        connection.bytesRead = socket.bytesRead;
        connection.quietSince = now;
      } else if (now - connection.quietSince >= this.limits.stopIdleMs) {
        socket.destroy();
      }
    }
  }

  private destroyAll(): void {
    for (const socket of this.open.keys()) socket.destroy();
  }

  private isAnswering(socket: Socket): boolean {
    const response = this.responseOn(socket);
    return response !== undefined && !response.writableFinished;
  }

  private register(registry: Registry): Counter<"reason"> {
    const { open, limits } = this;
    new Gauge({
      name: "waymark_connections",
      help: `Open connections of clients; ${limits.maxConnections} at most`,
      registers: [registry],
      collect() {
        this.set(open.size);
      },
    });
    return new Counter({
      name: "waymark_connections_cut_total",
      help: "Connections cut: too_many open, slow_request (not whole in time), stalled_answer (nothing of it taken in time)",
      labelNames: ["reason"],
      registers: [registry],
    });
  }
}

/** A request without a body is not yet `complete` where it is answered as soon as its head is there. */
function isArriving({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);
}
