import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { describeWithRedis, freePort } from "@waymark/testing";

/** A Redis server of one test, which it can stop and start; its data is in memory only, so a stop loses it. */
export interface OwnRedis {
  readonly url: string;
  start(): Promise<void>;
  /** Stops the server; what it held is lost. */
  stop(): Promise<void>;
  /** Keeps the connections open and answers nothing until `thaw`. */
  freeze(): void;
  thaw(): void;
}

/** A suite that starts a `redis-server` of its own; it runs and is skipped as every suite that needs Redis. */
export function describeWithOwnRedis(name: string, suite: () => void): void {
  describeWithRedis(name, () => suite());
}

/** A server that is not started yet. */
export async function createOwnRedis(): Promise<OwnRedis> {
  const port = await freePort();
  let server: ChildProcess | undefined;
  return {
    url: `redis://127.0.0.1:${port}`,
    async start() {
      const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", "/tmp"];
      server = spawn("redis-server", args, { stdio: "ignore" });
      for (let i = 0; i < 200 && !(await accepts(port)); i++) await new Promise((resolve) => setTimeout(resolve, 25));
    },
    async stop() {
      if (!server) return;
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      server = undefined;
      await ended;
    },
    freeze: () => void server?.kill("SIGSTOP"),
    thaw: () => void server?.kill("SIGCONT"),
  };
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  });
  socket.destroy();
  return isOpen;
}

/** A TCP way to a server that a test can cut and open again, as if the server went away and came back. */
export interface Gate {
  readonly port: number;
  /** Open sockets of the gate itself, two for each connection through it. */
  readonly socketCount: number;
  open(): Promise<void>;
  /** Keeps the connections open, takes further ones, and lets nothing through any more. */
  freeze(): void;
  /** Refuses new connections and ends those there are. */
  shut(): Promise<void>;
}

/** A gate that is not open yet. */
export async function createGate(target: { host: string; port: number }): Promise<Gate> {
  const port = await freePort();
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let isFrozen = false;
  return {
    port,
    get socketCount() {
      return sockets.size;
    },
    async open() {
      isFrozen = false;
      server = createServer((client) => {
        const upstream = connect(target.port, target.host);
        for (const socket of [client, upstream]) {
          sockets.add(socket);
          socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
        }
        if (!isFrozen) client.pipe(upstream).pipe(client);
      }).listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    async shut() {
      const closed = server && once(server, "close");
      server?.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      server = undefined;
    },
  };
}
