import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Counter, Gauge, type Registry } from "prom-client";

export interface ConnectionLimits {
  /** Open connections; one more is closed at once. 4,000 with an unfinished body each held 60 MiB in the collector. */
  maxConnections: number;
  /** Whether other processes listen on the same port: Node would offer a connection that one refuses to them, for ever. */
  isPortShared: boolean;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** How often Node checks the two above. */
  checkIntervalMs: number;
  /** The server cuts an answer after this time without progress by its client. */
  stallTimeoutMs: number;
  /** Longer than the idle time of common proxies (60 s), so the proxy closes first; otherwise it answers 502. */
  keepAliveTimeoutMs: number;
  /** While the server stops, it closes connections quiet for this long. */
  stopIdleMs: number;
}

export const connectionLimits: ConnectionLimits = {
  maxConnections: 4_000,
  isPortShared: false,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 30_000,
  checkIntervalMs: 1_000,
  stallTimeoutMs: 60_000,
  keepAliveTimeoutMs: 65_000,
  stopIdleMs: 1_000,
};

const sweepIntervalMs = 50;

/** Routes of a line in the log, and closed connections that are asked for theirs. */
const maxRoutes = 20;

/** Notes of `requestContext` on a response. */
interface Noted {
  locals?: { route?: string; endedAt?: number };
}

interface Connection {
  response: ServerResponse | undefined;
  /** While the server stops: the bytes read at the last check, and the start of its quiet time. */
  bytesRead: number;
  quietSince: number;
}

/** The connections of a server: bounds them, and closes them between requests when the server stops. */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly cut: Counter<"reason"> | undefined;
  private readonly closed: ServerResponse[] = [];
  private isStopping = false;

  constructor(
    private readonly server: Server,
    private readonly limits: ConnectionLimits,
    registry: Registry | undefined,
  ) {
    if (registry) this.cut = this.register(registry);
    if (!limits.isPortShared) server.maxConnections = limits.maxConnections;
    server.on("connection", (socket) => {
      if (limits.isPortShared && this.open.size >= limits.maxConnections) {
        this.cut?.inc({ reason: "too_many" });
        socket.destroy();
        return;
      }
      const connection: Connection = { response: undefined, bytesRead: -1, quietSince: 0 };
      this.open.set(socket, connection);
      socket.once("close", () => {
        this.open.delete(socket);
        if (connection.response && this.closed.push(connection.response) > maxRoutes) this.closed.shift();
      });
    });
    // Node restarts this timer on each progress: it fires after `stallTimeoutMs` without any.
    server.timeout = limits.stallTimeoutMs;
    server.on("timeout", (socket) => {
      if (this.isAnswering(socket)) this.cut?.inc({ reason: "stalled_answer" });
      socket.destroy();
    });
    server.on("drop", () => this.cut?.inc({ reason: "too_many" }));
  }

  begin(socket: Socket, response: ServerResponse): void {
    const connection = this.open.get(socket);
    if (connection) connection.response = response;
  }

  responseOn(socket: Socket): ServerResponse | undefined {
    return this.open.get(socket)?.response;
  }

  routesSince(moment: number): string[] {
    const routes = new Set<string>();
    for (const response of [...[...this.open.values()].map((each) => each.response), ...this.closed]) {
      const noted = (response as Noted | undefined)?.locals;
      if (!response || !noted || (noted.endedAt ?? moment) < moment) continue;
      routes.add(`${response.req.method} ${noted.route ?? "(none)"}`);
      if (routes.size === maxRoutes) break;
    }
    return [...routes];
  }

  countSlowRequest(): void {
    this.cut?.inc({ reason: "slow_request" });
  }

  /**
   * Asks the client to close the connection while the server stops, or while half of all connections are open: idle ones then
   * make room. A request still arriving keeps its connection: closing it would discard the rest and reset the connection
   * before the client has read its answer.
   */
  limitReuse(response: ServerResponse): void {
    const isCrowded = this.open.size > this.limits.maxConnections / 2;
    if ((this.isStopping || isCrowded) && !isArriving(response.req)) response.setHeader("Connection", "close");
  }

  /**
   * Stops listening, and resolves when all connections are closed. Answers close their connections from now on. An idle
   * connection may have a request under way, so it closes after `stopIdleMs` of quiet. After the time the server cuts all.
   */
  stop(drainTimeoutMs: number): Promise<void> {
    this.isStopping = true;
    return new Promise((resolve) => {
      const cut = setTimeout(() => this.destroyAll(), drainTimeoutMs);
      // After the event loop has read all sockets, so requests already there count.
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

/** A request without a body is not yet `complete` if the answer follows its head at once. */
function isArriving({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);
}
