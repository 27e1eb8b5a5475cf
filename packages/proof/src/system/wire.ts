import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Undo } from "./undo.js";

/** A TCP proxy on the loopback between the services and a store, for faults of the network. */
export interface Wire {
  readonly port: number;
  lead(port: number): void;
  /** Breaks all connections at once, also in mid-answer. */
  cut(): void;
  /** Until `false`, breaks one connection in five at its next answer, which is lost. */
  dropAnswers(isDropping: boolean): void;
  /** Holds back all bytes in both directions, also of new connections, until `thaw`. */
  freeze(): void;
  thaw(): void;
  refuse(isRefusing: boolean): void;
}

const droppedShare = 0.2;

export async function openWire(firstPort: number, undo: Undo): Promise<Wire> {
  let target = firstPort;
  let [isFrozen, isRefusing, isDropping] = [false, false, false];
  const sockets = new Set<Socket>();
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const pass = (from: Socket, to: Socket, isAnswer: boolean) => {
    sockets.add(from);
    from.on("data", (chunk) => {
      if (isAnswer && isDropping && Math.random() < droppedShare) return void from.destroy();
      if (!to.write(chunk)) from.pause();
    });
    to.on("drain", () => isFrozen || from.resume());
    from.on("end", () => to.end());
    from.on("error", () => to.destroy());
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    if (isFrozen) from.pause();
  };
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    if (isRefusing) return void near.resetAndDestroy();
    const far = connect({ port: target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    pass(near, far, false);
    pass(far, near, true);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  undo(() => {
    cut();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    lead: (port) => {
      target = port;
    },
    cut,
    dropAnswers: (isNow) => {
      isDropping = isNow;
    },
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    refuse: (isNow) => {
      isRefusing = isNow;
    },
  };
}
