import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { AppError } from "@waymark/errors";
import type { Request, Response } from "express";
import { Registry } from "prom-client";
import { createRefusals, createShares } from "../limits/shares.js";
import { type BodyBudget, createBytesReader, type ReadBytes } from "./body-bytes.js";

const mebibyte = 1_048_576;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Bytes of buffers still in use. Node frees them beside the program, so this asks until the figure stays. */
async function heldBuffers(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let unchanged = 0; unchanged < 5; unchanged++) {
    // Objects of a turn of the event loop become garbage after it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    collectGarbage();
    const held = process.memoryUsage().arrayBuffers;
    if (held < least) unchanged = 0;
    least = Math.min(least, held);
  }
  return least;
}

describe("a reader of bodies", () => {
  let server: Server;
  let read: ReadBytes;
  /** The outcome of the latest body. */
  let outcome: Promise<number>;
  let onRequest: (request: Request, response: Response) => void;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => onRequest(request as Request, response as Response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  const answer = (request: Request, response: Response) => {
    outcome = read(request, response).then(
      ({ length }) => {
        response.end("ok");
        return length;
      },
      (error: AppError) => {
        response.statusCode = error.status;
        response.end("refused");
        throw error;
      },
    );
    outcome.catch(() => undefined);
  };
  const begin = (...headers: string[]) => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.write(`${["POST / HTTP/1.1", "Host: x", ...headers].join("\r\n")}\r\n\r\n`);
    return socket;
  };
  const answerOf = (socket: Socket) =>
    new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
  const budgetOf = (turn: BodyBudget["turn"], perAccount = mebibyte): BodyBudget => {
    const limits = { name: "body_bytes", total: perAccount, perAccount, reason: () => "Too many bytes" };
    return { shares: createShares(limits, createRefusals(new Registry())), turn, ownerOf: () => "account" };
  };

  it("keeps nothing of a body that it refused while the client goes on sending", async () => {
    read = createBytesReader(mebibyte);
    onRequest = answer;
    const piece = Buffer.alloc(mebibyte + 1, " ");
    const before = await heldBuffers();
    for (let n = 0; n < 40; n++) {
      const socket = begin("Transfer-Encoding: chunked");
      socket.write(`${piece.length.toString(16)}\r\n`);
      socket.write(piece);
      expect(await answerOf(socket)).toContain("HTTP/1.1 413");
    }
    expect((await heldBuffers()) - before).toBeLessThan(20 * mebibyte);
  });

  it("lets a body go whose client leaves before it is its turn", async () => {
    let asked = () => {};
    const isWaiting = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const never = () => {
      asked();
      return new Promise<void>(() => undefined);
    };
    read = createBytesReader(mebibyte, budgetOf(never));
    onRequest = answer;
    const socket = begin("Content-Length: 20000");
    socket.write(Buffer.alloc(20_000, " "));
    await isWaiting;
    socket.destroy();
    await expect(outcome).rejects.toMatchObject({ status: 400 });
  });

  it("takes nothing of the budget for a client that has left already", async () => {
    const budget = budgetOf(() => Promise.resolve());
    read = createBytesReader(mebibyte, budget);
    const ended = new Promise<void>((resolve) => {
      onRequest = (request, response) => {
        response.once("close", () => {
          answer(request, response);
          resolve();
        });
      };
    });
    const socket = begin("Content-Encoding: gzip", "Content-Length: 1000");
    setTimeout(() => socket.destroy(), 50);
    await ended;
    await expect(outcome).rejects.toBeInstanceOf(AppError);
    expect(budget.shares.take("account", mebibyte)).toBeUndefined();
  });
});
