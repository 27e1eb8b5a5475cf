import { connect, type Socket } from "node:net";

/** Frames of HTTP/2 that no library sends (RFC 9113, section 4.1). */
export function rawFrame(type: "data" | "headers" | "reset" | "settings" | "ping", stream: number, payload: Buffer) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6 }[type];
  // A head ends with its first frame here.
  head[4] = type === "headers" ? 4 : 0;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The head of a call, each field as a literal (RFC 7541, section 6.2.2). */
export function rawCall(stream: number, authorization: string): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
  const fields = {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    ":authority": "x",
    "content-type": "application/grpc",
    authorization,
  };
  const literals = Object.entries(fields).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]);
  return rawFrame("headers", stream, Buffer.concat(literals));
}

/** A message's head, and bytes of it in frames of one each. */
export function rawBytes(stream: number, count: number): Buffer {
  const head = Buffer.from([0, 0, 0x3f, 0, 0]);
  const one = rawFrame("data", stream, Buffer.alloc(1));
  return Buffer.concat([rawFrame("data", stream, head), ...Array.from({ length: count }, () => one)]);
}

/** `count` calls, each left at once. */
export function rawResets(count: number): Buffer {
  const calls = Array.from({ length: count }, (_, n) => 2 * n + 1);
  const frames = calls.flatMap((stream) => [rawCall(stream, "none"), rawFrame("reset", stream, Buffer.alloc(4))]);
  return Buffer.concat(frames);
}

export async function openRawSocket(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined).resume();
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(
    Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), rawFrame("settings", 0, Buffer.alloc(0))]),
  );
  return socket;
}
