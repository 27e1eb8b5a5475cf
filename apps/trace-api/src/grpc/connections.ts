import type { Http2Session, ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";

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
export class GrpcConnections {
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
