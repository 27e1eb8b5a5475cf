import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, describe, expect, it } from "@jest/globals";
import { errorHandler } from "@waymark/errors";
import express from "express";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createBytesReader } from "./body-bytes.js";
import { createRefusals } from "./refusals.js";
import { createShares } from "./shares.js";
import { createTurns } from "./turns.js";

const mebibyte = 1_048_576;

describe("a body that the budget refuses when much of it has arrived", () => {
  const shares = createShares(
    { name: "body_bytes", total: mebibyte, perAccount: mebibyte, reason: () => "At most 1 MiB" },
    createRefusals(new Registry()),
  );
  const readBytes = createBytesReader(4 * mebibyte, { shares, turn: createTurns(), ownerOf: () => "one" });
  const app = express();
  app.post("/", async (request, response) => {
    response.json({ bytes: (await readBytes(request, response)).length });
  });
  app.use(errorHandler({ isUnavailable: () => false, log: pino({ level: "silent" }) }));
  const server = app.listen(0, "127.0.0.1");
  const sockets: Socket[] = [];
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it("leaves nothing in memory while the rest of it is awaited", async () => {
    if (!server.listening) await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const before = arrayBytes();
    for (let n = 0; n < 40; n++) {
      const socket = connect(port, "127.0.0.1");
      sockets.push(socket);
      socket.write(`POST / HTTP/1.1\r\nHost: test\r\nContent-Length: ${4 * mebibyte}\r\n\r\n`);
      socket.write(Buffer.alloc(mebibyte + 200_000));
      const [answer] = (await once(socket, "data")) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 429 /);
    }
    expect(arrayBytes() - before).toBeLessThan(20 * mebibyte);
  });
});

/** Bytes in buffers that something still holds. */
function arrayBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().arrayBuffers;
}
