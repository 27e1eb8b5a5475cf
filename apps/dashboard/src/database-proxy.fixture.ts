import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll } from "@jest/globals";

/** A way to Postgres that a test can take away. */
export interface DatabaseProxy {
  /** The address of the same database through the proxy. */
  addressOf(url: string): string;
  /** Ends every connection and refuses new ones, as a stopped server does. */
  stop(): void;
  /** Takes everything and answers nothing, as a frozen server or a lost network does. */
  freeze(): void;
  /** Lets new connections through; frozen ones are lost. */
  recover(): void;
}

/** Stands between the app and Postgres on a loopback port. Call it at the top of a suite. */
export function useDatabaseProxy(): DatabaseProxy {
  const sockets = new Set<Socket>();
  let state: "open" | "frozen" | "stopped" = "open";
  let target = new URL("postgres://127.0.0.1");

  function pass(socket: Socket): void {
    if (state === "stopped") return void socket.destroy();
    const upstream = connect(Number(target.port || 5432), target.hostname);
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on("data", (chunk) => to.write(chunk));
      if (state === "frozen") from.pause();
    }
  }

  const server = createServer(pass).listen(0);
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    addressOf(url) {
      target = new URL(url);
      const own = new URL(url);
      own.hostname = "127.0.0.1";
      own.port = String((server.address() as AddressInfo).port);
      return own.href;
    },
    stop() {
      state = "stopped";
      for (const socket of sockets) socket.destroy();
    },
    freeze() {
      state = "frozen";
      for (const socket of sockets) socket.pause();
    },
    recover() {
      state = "open";
      for (const socket of sockets) socket.destroy();
    },
  };
}
