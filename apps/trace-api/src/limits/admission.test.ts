import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Principal } from "@waymark/auth";
import { createRefusals } from "@waymark/service/http";
import type { Request, Response } from "express";
import { Registry } from "prom-client";
import request from "supertest";
import { spanBody, type TestAccount, traceBody, useApp } from "../app.fixture.js";
import { admit } from "./admission.js";

const mebibyte = 1_048_576;

describe("what one account has in hand", () => {
  const test = useApp();
  let server: Server;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    server = createServer(test.app);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  /** Opens a connection with an unfinished body; `answer` resolves with the first bytes of the answer. */
  const begin = (account: TestAccount, path: string, headers: string[]) => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    const head = [`POST ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${account.key}`, ...headers, "", ""];
    socket.write(head.join("\r\n"));
    const answer = new Promise<string>((resolve) => {
      socket.once("data", (data) => resolve(data.toString()));
      socket.once("error", () => resolve("error"));
    });
    return { socket, answer };
  };
  const unfinished = (account: TestAccount, path = "/api/v1/traces") =>
    begin(account, path, ["Content-Type: application/json", `Content-Length: ${4 * mebibyte - 1}`]);

  it.each(["/api/v1/traces", "/v1/traces"])(
    "is 16 MiB of unfinished bodies at %s: 429 for what comes on top, and 201 for others",
    async (path) => {
      const [greedy, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
      const held = Array.from({ length: 10 }, () => unfinished(greedy, path));
      // 3 MiB each: five of them fit.
      for (const { socket } of held) socket.write(Buffer.alloc(3 * mebibyte, " "));
      const refused: string[] = [];
      for (const { answer } of held) void answer.then((text) => refused.push(text));
      while (refused.length < 5) await new Promise((resolve) => setTimeout(resolve, 10));
      const statuses = refused.map((text) => text.split("\r\n")[0]);
      expect(new Set(statuses)).toEqual(new Set(["HTTP/1.1 429 Too Many Requests"]));
      expect(refused[0]).toContain("At most 16 MiB of request bodies may be in hand of one account");
      const trace = await other.makeTrace({ metadata: { text: "x".repeat(mebibyte) } });
      await other.post(`/api/v1/traces/${trace}/spans`, spanBody()).expect(201);
      for (const { socket } of held) socket.destroy();
      for (let attempt = 0; ; attempt++) {
        const { status } = await greedy.post(
          "/api/v1/traces",
          traceBody({ metadata: { text: "x".repeat(3.5 * mebibyte) } }),
        );
        if (status === 201) break;
        if (attempt === 50) throw new Error("what was held is not given back");
      }
      expect(await test.registry.metrics()).toMatch(/waymark_refused_total\{limit="body_bytes",scope="account"/);
    },
  );

  it("counts what a body inflates to, and the windows of decoders", async () => {
    const [greedy, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const windows = Array.from({ length: 3 }, () =>
      begin(greedy, "/api/v1/traces", [
        "Content-Type: application/json",
        "Content-Encoding: br",
        "Content-Length: 1000",
      ]),
    );
    const first = await Promise.race(windows.map(({ answer }) => answer));
    expect(first).toContain("HTTP/1.1 429");
    const body = JSON.stringify(traceBody({ metadata: { text: "x".repeat(mebibyte) } }));
    const send = (encoding: string, bytes: Buffer) =>
      request(server)
        .post("/api/v1/traces")
        .set({ Authorization: `Bearer ${other.key}`, "Content-Type": "application/json", "Content-Encoding": encoding })
        .serialize((given) => given)
        .send(bytes);
    await send("gzip", gzipSync(body)).expect(201);
    await send("br", brotliCompressSync(body)).expect(201);
    await send("gzip", gzipSync(Buffer.alloc(100 * mebibyte))).expect(413);
    await send("gzip", gzipSync(body).subarray(0, 500)).expect(400);
    await send("zstd", Buffer.from(body)).expect(415);
    for (const { socket } of windows) socket.destroy();
  });

  it("is 256 requests of a key: 429 for the next, and none for another account", async () => {
    const [greedy, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const held = Array.from({ length: 257 }, () => unfinished(greedy));
    const first = await Promise.race(held.map(({ answer }) => answer));
    expect(first).toContain("HTTP/1.1 429");
    expect(first).toContain("At most 256 requests of one key may be in hand");
    await other.post("/api/v1/traces", traceBody()).expect(201);
    for (const { socket } of held) socket.destroy();
  });
});

describe("a key that is looked up", () => {
  const test = useApp({ lockTimeoutMs: 8_000 });

  it("has nothing in hand of requests whose clients left meanwhile", async () => {
    const account = await test.makeAccount("pro");
    let closed = 0;
    const server = createServer((given, response) => {
      response.once("close", () => closed++);
      test.app(given, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const held = await test.hold("LOCK TABLE api_key");
    const head = [
      "POST /api/v1/traces HTTP/1.1",
      "Host: x",
      `Authorization: Bearer ${account.key}`,
      "Content-Length: 9",
    ];
    const sockets = Array.from({ length: 256 }, () =>
      connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => undefined),
    );
    let arrived = 0;
    server.on("request", () => arrived++);
    for (const socket of sockets) socket.write(`${head.join("\r\n")}\r\n\r\n`);
    while (arrived < sockets.length) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const socket of sockets) socket.destroy();
    while (closed < sockets.length) await new Promise((resolve) => setTimeout(resolve, 5));
    await held.commit();
    await account.post("/api/v1/traces", traceBody()).expect(201);
    server.close();
  });
});

describe("the rate of one key", () => {
  let now = 0;
  const guard = (ratePerSecond: number) => {
    const refusals = createRefusals(new Registry());
    const handler = admit({ ratePerSecond, refusals, clock: () => now });
    /** Sends requests with immediate answers and returns the number of admitted ones. */
    return (keyId: string, requests: number) => {
      let admitted = 0;
      for (let n = 0; n < requests; n++) {
        const principal = { keyId, accountId: "a", plan: "pro" } as Principal;
        const response = { locals: { principal }, once: (_: string, close: () => void) => close() };
        try {
          handler({} as Request, response as unknown as Response, () => admitted++);
        } catch (error) {
          expect(error).toMatchObject({
            status: 429,
            body: { error: "Rate limit exceeded", limit: ratePerSecond, retry_after: 1 },
          });
        }
      }
      return admitted;
    };
  };

  it("has bursts of two seconds' worth, and fills up again", () => {
    const send = guard(100);
    expect(send("a", 250)).toBe(200);
    expect(send("b", 50)).toBe(50);
    now += 500;
    expect(send("a", 100)).toBe(50);
    now += 60_000;
    expect(send("a", 250)).toBe(200);
  });

  it("has no limit where it is 0", () => {
    expect(guard(0)("a", 10_000)).toBe(10_000);
  });

  it("is kept for 10,000 keys, and for those that are busy", () => {
    const send = guard(1);
    for (let n = 0; n < 10_000; n++) send(`key ${n}`, 1);
    expect(send("key 0", 5)).toBe(1);
    now += 10_000;
    expect(send("one more", 5)).toBe(2);
    expect(send("key 0", 5)).toBe(2);
  });
});

describe("the rate of a key over HTTP", () => {
  const test = useApp({ rateLimitPerSecond: 2 });

  it("holds for every path behind a key, and not for the public ones", async () => {
    const account = await test.makeAccount("pro");
    await account.get("/api/v1/usage").expect(200);
    await account.get("/api/v1/nothing").expect(404);
    const answers = [];
    for (let n = 0; n < 8; n++) answers.push(await account.post("/v1/traces", {}));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers["retry-after"]).toBe("1");
    expect(refused?.body).toMatchObject({ limit: 2, retry_after: 1 });
    for (let n = 0; n < 8; n++) await request(test.app).get("/health").expect(200);
  });
});
