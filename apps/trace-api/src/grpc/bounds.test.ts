import { once } from "node:events";
import { gzipSync } from "node:zlib";
import grpc from "@grpc/grpc-js";
import { describe, expect, it } from "@jest/globals";
import { createApiKey } from "@waymark/auth";
import { useApp } from "../app.fixture.js";
import { call, frame, keyOf, openRaw, useGrpc } from "./grpc.fixture.js";
import { openRawSocket, rawBytes, rawCall, rawFrame, rawResets } from "./raw-http2.fixture.js";

const mebibyte = 1_048_576;

describe("a connection of gRPC", () => {
  const test = useApp();
  const open = useGrpc(test);

  it("is closed where it sends a message in frames of a byte, its key known or not", async () => {
    const { port } = await open();
    const account = await test.makeAccount("pro");
    for (const key of [account.key, createApiKey("trace").key]) {
      const socket = await openRawSocket(port);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(Buffer.concat([rawCall(1, `Bearer ${key}`), rawBytes(1, 1_000)]));
      await closed;
    }
    expect(await test.registry.metrics()).toMatch(
      /waymark_refused_total\{limit="grpc_connections",scope="service".*\} 2$/m,
    );
  });

  it("is closed where it begins calls and leaves them, beyond 100 at once", async () => {
    const { port } = await open();
    const socket = await openRawSocket(port);
    socket.write(rawResets(99));
    await once(socket, "data");
    socket.write(rawFrame("ping", 0, Buffer.alloc(8)));
    await once(socket, "data");
    expect(socket.destroyed).toBe(false);
    const other = await openRawSocket(port);
    const closed = new Promise((resolve) => other.once("close", resolve));
    other.write(rawResets(400));
    await closed;
    socket.destroy();
  });

  it("makes room for a new one at the maximum if it has no call, and is refused where all have one", async () => {
    const { port } = await open({ limits: { connections: 3 } });
    const account = await test.makeAccount("pro");
    const raw: ReturnType<typeof openRaw>[] = [];
    const connect = async () => {
      const opened = openRaw(port);
      raw.push(opened);
      const { stream, status } = opened.begin({});
      stream.end(frame(Buffer.alloc(0)));
      expect(await status).toBe(String(grpc.status.UNAUTHENTICATED));
      return opened;
    };
    /** A call whose message does not end, known to the server. */
    const hold = async ({ begin }: ReturnType<typeof openRaw>) => {
      begin(keyOf(account)).stream.write(frame(Buffer.alloc(3), false, 10));
      const { stream, status } = begin({});
      stream.end(frame(Buffer.alloc(0)));
      await status;
    };
    const [busy, idle, other] = [await connect(), await connect(), await connect()];
    await hold(busy);
    await hold(other);
    const closed = once(idle.session, "close");
    await hold(await connect());
    await closed;
    expect([busy.session.closed, other.session.closed]).toEqual([false, false]);
    await expect(call(port, "metrics", {}, keyOf(account))).rejects.toMatchObject({ code: grpc.status.UNAVAILABLE });
    for (const { session } of raw) session.destroy();
  });
});

describe("a call of gRPC", () => {
  const test = useApp();
  const open = useGrpc(test);

  it("is DEADLINE_EXCEEDED where its message takes too long", async () => {
    const { port } = await open({ limits: { arrivalMs: 100 } });
    const account = await test.makeAccount("pro");
    for (const sent of [Buffer.alloc(3), frame(Buffer.alloc(3), false, 10)]) {
      const { session, begin } = openRaw(port);
      const { stream, status } = begin(keyOf(account));
      stream.write(sent);
      expect(await status).toBe(String(grpc.status.DEADLINE_EXCEEDED));
      session.destroy();
    }
  });

  it("ends where its client does not take the answer", async () => {
    const { port } = await open({ limits: { answerMs: 100 } });
    const account = await test.makeAccount("pro");
    const { session, begin } = openRaw(port, { initialWindowSize: 0 });
    const { stream, status } = begin(keyOf(account));
    stream.end(frame(Buffer.from([10, 0])));
    expect(await status).toBeUndefined();
    session.destroy();
  });

  it("is UNAVAILABLE with RetryInfo beyond the calls that may be in hand", async () => {
    const { port } = await open({ limits: { calls: 1 } });
    const account = await test.makeAccount("pro");
    const { session, begin } = openRaw(port);
    begin(keyOf(account)).stream.write(frame(Buffer.alloc(3), false, 10));
    const { stream, status } = begin(keyOf(account));
    stream.end(frame(Buffer.alloc(0)));
    expect(await status).toBe(String(grpc.status.UNAVAILABLE));
    const refused = await call(port, "metrics", {}, keyOf(account)).catch((error: grpc.ServiceError) => error);
    expect((refused as grpc.ServiceError).metadata.get("grpc-status-details-bin")).toHaveLength(1);
    session.destroy();
  });

  it("is refused before it has inflated more than the limit of a body", async () => {
    const { port } = await open();
    const account = await test.makeAccount("pro");
    const { session, begin } = openRaw(port);
    const { stream, status } = begin({ ...keyOf(account), "grpc-encoding": "gzip" });
    stream.end(frame(gzipSync(Buffer.alloc(100 * mebibyte)), true));
    expect(await status).toBe(String(grpc.status.INVALID_ARGUMENT));
    session.destroy();
  });

  it("is RESOURCE_EXHAUSTED above 16 MiB of unfinished messages of an account, and another account is served", async () => {
    const { port } = await open();
    const [greedy, other] = [await test.makeAccount("pro"), await test.makeAccount("pro")];
    const { session, begin } = openRaw(port);
    const held = Array.from({ length: 8 }, () => begin(keyOf(greedy)));
    for (const { stream } of held) stream.write(frame(Buffer.alloc(3 * mebibyte), false, 4 * mebibyte));
    expect(await Promise.race(held.map(({ status }) => status))).toBe(String(grpc.status.RESOURCE_EXHAUSTED));
    expect(await call(port, "metrics", {}, keyOf(other))).toEqual({});
    session.destroy();
    while ((await greedy.post("/v1/metrics", { x: "x".repeat(3 * mebibyte) })).status === 429);
  });
});
