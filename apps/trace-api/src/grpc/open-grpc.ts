import { readFile } from "node:fs/promises";
import {
  createSecureServer,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { bind, connectionLimits, type FurtherServer, isAddressInUse, readable } from "@waymark/service";
import type { Refusals } from "@waymark/service/http";
import type { Response, Router } from "express";
import type { Logger } from "pino";
import { sendOtlpError } from "../otlp/otlp-http.js";
import { answerCall } from "./call.js";

/** Until its key is known a call holds up to 64 KiB, the window of HTTP/2. */
const grpcLimits = {
  connections: 1_000,
  callsPerConnection: 50,
  /** Calls of all connections at a time: as many as requests in progress. */
  calls: 2_048,
  arrivalMs: connectionLimits.requestTimeoutMs,
  answerMs: connectionLimits.stallTimeoutMs,
  handshakeMs: connectionLimits.headersTimeoutMs,
  idleMs: 300_000,
};

export interface GrpcOptions {
  host: string;
  /** 0 for none. */
  port: number;
  /** Whether the operator chose the port: a taken one is then an error; otherwise there is no gRPC. */
  isPortChosen: boolean;
  tls: { certFile: string; keyFile: string } | undefined;
  /** The app's: calls pass the same guards and routes as requests. */
  router: Router;
  refusals: Refusals;
  partOf(amount: number): number;
  log: Logger;
  limits?: Partial<typeof grpcLimits>;
}

/**
 * Opens OTLP over gRPC: unary calls over HTTP/2, in plaintext or TLS. Not by `@grpc/grpc-js`: its server gathers a whole
 * message before any code may refuse it, so 4 MiB in frames of a byte took 590 MiB and held the event loop for 0.8 s.
 * @throws ConfigError where a file of TLS cannot be read, ListenError for a chosen port that is taken
 */
export async function openGrpc(options: GrpcOptions): Promise<FurtherServer | undefined> {
  const { host, port, tls, log } = options;
  if (port === 0) return undefined;
  const limits = { ...grpcLimits, ...options.limits };
  const settings = {
    settings: { maxConcurrentStreams: limits.callsPerConnection, enablePush: false, maxHeaderListSize: 16_384 },
  };
  const server = tls
    ? createSecureServer({
        ...settings,
        cert: await readable("OTLP_GRPC_CERT", readFile(tls.certFile)),
        key: await readable("OTLP_GRPC_KEY", readFile(tls.keyFile)),
        handshakeTimeout: limits.handshakeMs,
      })
    : createServer(settings);
  const connections = new GrpcConnections(limits, options.partOf(limits.connections), () => {
    options.refusals.service("grpc_connections", "");
  });
  server.on("connection", (socket: Socket) => connections.addSocket(socket));
  server.on("session", (session) => connections.addSession(session));
  let calls = 0;
  const refuse = (response: Response) => {
    const reason = `At most ${limits.calls} calls may be in hand`;
    sendOtlpError(response, options.refusals.service("requests_in_hand", reason));
  };
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    // A client may leave at any moment.
    stream.on("error", () => undefined);
    if (!connections.begin(stream)) return;
    calls++;
    stream.once("close", () => void calls--);
    answerCall(stream, headers, {
      router: options.router,
      limits,
      refuse: calls > options.partOf(limits.calls) ? refuse : undefined,
    });
  });
  try {
    await bind(server, { host, port, portVariable: "OTLP_GRPC_PORT" });
  } catch (error) {
    if (options.isPortChosen || !isAddressInUse(error)) throw error;
    log.warn({ port }, "OTLP over gRPC is off: its port is taken; OTLP_GRPC_PORT sets another one, or 0");
    return undefined;
  }
  log.info({ host, port, isEncrypted: tls !== undefined }, "listening for OTLP over gRPC");
  return {
    async stop(drainTimeoutMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.close();
      const cut = setTimeout(() => connections.destroy(), drainTimeoutMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

interface Peer {
  readonly socket: Socket;
  calls: number;
  begunInTurn: number;
  credit: number;
}

interface ConnectionLimits {
  connections: number;
  callsPerConnection: number;
  idleMs: number;
}

/** Frames of data below `bytesPerFrame` on average; each costs as much time as a large one. */
const smallFrames = { credit: 300, perCall: 8, bytesPerFrame: 256 } as const;

/** Bounds the connections of a server, and the work that one can make within a turn of the event loop. */
class GrpcConnections {
  private readonly peers = new Map<string, Peer>();
  private readonly sessions = new Set<Http2Session>();

  constructor(
    private readonly limits: ConnectionLimits,
    private readonly most: number,
    private readonly countCut: () => void,
  ) {}

  /** Takes a connection. If there is no room, one without a call makes it: the one that came first. */
  addSocket(socket: Socket): void {
    if (this.peers.size >= this.most) {
      const idle = [...this.peers].find(([, { calls }]) => calls === 0);
      if (!idle) {
        this.cut(socket);
        return;
      }
      idle[1].socket.destroy();
      this.peers.delete(idle[0]);
    }
    const key = keyOf(socket);
    const peer = { socket, calls: 0, begunInTurn: 0, credit: smallFrames.credit };
    this.peers.set(key, peer);
    socket.once("close", () => {
      if (this.peers.get(key) === peer) this.peers.delete(key);
    });
  }

  addSession(session: Http2Session): void {
    this.sessions.add(session);
    session.once("close", () => this.sessions.delete(session));
    session.setTimeout(this.limits.idleMs, () => session.close());
  }

  /** @returns false where the client has left the call, or begins more at once than it may; it then loses its connection */
  begin(stream: ServerHttp2Stream): boolean {
    const { session } = stream;
    const peer = session && !session.destroyed ? this.peers.get(keyOf(session.socket)) : undefined;
    if (!session || !peer) return false;
    if (peer.begunInTurn++ === 0) setImmediate(startTurn, peer);
    if (peer.begunInTurn > 2 * this.limits.callsPerConnection) return this.cut(peer.socket);
    if (stream.destroyed) return false;
    peer.credit = Math.min(smallFrames.credit, peer.credit + smallFrames.perCall);
    peer.calls++;
    stream.once("close", () => void peer.calls--);
    this.countFrames(stream, peer);
    return true;
  }

  close(): void {
    for (const session of this.sessions) session.close();
  }

  destroy(): void {
    for (const session of this.sessions) session.destroy();
    for (const { socket } of this.peers.values()) socket.destroy();
  }

  /** Closes the socket itself: after the end of a session Node reads on. */
  private cut(socket: Socket): false {
    if (!socket.destroyed) this.countCut();
    socket.destroy();
    return false;
  }

  /** Counts frames as they come, also while nobody reads: a window of 64 KiB has room for 65,535 of a byte. */
  private countFrames(stream: ServerHttp2Stream, peer: Peer): void {
    const push = stream.push.bind(stream);
    stream.push = (chunk: Buffer | null) => {
      if (chunk) {
        const earned = chunk.length / smallFrames.bytesPerFrame - 1;
        peer.credit = Math.min(smallFrames.credit, peer.credit + earned);
        if (peer.credit < 0) return this.cut(peer.socket);
      }
      return push(chunk);
    };
  }
}

function keyOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}

function startTurn(peer: Peer): void {
  peer.begunInTurn = 0;
}
