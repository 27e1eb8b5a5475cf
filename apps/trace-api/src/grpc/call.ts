import { EventEmitter } from "node:events";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Transform, type TransformCallback } from "node:stream";
import { type RpcStatus, readStatus, rpcCodes, writeStatusDetails } from "@waymark/traces/otlp";
import type { Request, Response, Router } from "express";

const paths: Readonly<Record<string, string>> = {
  "/opentelemetry.proto.collector.trace.v1.TraceService/Export": "/v1/traces",
  "/opentelemetry.proto.collector.logs.v1.LogsService/Export": "/v1/logs",
  "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export": "/v1/metrics",
};
const encodings: readonly string[] = ["gzip", "deflate"];
/** `grpc-message` may take three bytes for one, and clients take heads of 8 KiB. */
const maxMessageLength = 1_000;

interface CallLimits {
  arrivalMs: number;
  answerMs: number;
}

/** The response to a call, as far as the guards, the routes and the error handler use one. */
class CallResponse extends EventEmitter {
  locals: Record<string, unknown> = {};
  statusCode = 200;
  headersSent = false;
  writableFinished = false;
  closed = false;
  private readonly headers = new Map<string, string>();

  constructor(
    readonly req: FramedMessage,
    private readonly stream: ServerHttp2Stream,
    private readonly limits: CallLimits,
  ) {
    super();
    stream.once("close", () => {
      this.closed = true;
      this.emit("close");
    });
  }

  setHeader(name: string, value: string | number): void {
    this.headers.set(name.toLowerCase(), String(value));
  }

  /** Sends a route's answer in protobuf: a message, or the `google.rpc.Status` of an error. */
  end(body: Buffer): void {
    if (this.statusCode === 200) this.succeed(body);
    else this.fail(readStatus(body), Number(this.headers.get("retry-after")));
  }

  private succeed(body: Buffer): void {
    if (!this.begin()) return;
    const { stream } = this;
    stream.respond(
      { ":status": 200, "content-type": "application/grpc", ...this.metadata() },
      { waitForTrailers: true },
    );
    stream.once("wantTrailers", () => {
      this.writableFinished = true;
      stream.sendTrailers({ "grpc-status": String(rpcCodes.ok) });
    });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    stream.end(Buffer.concat([head, body]));
  }

  /** Ends the call without a message, also while the client still sends. */
  fail(status: RpcStatus, retryAfterSeconds = 0): void {
    if (!this.begin()) return;
    const { stream } = this;
    this.writableFinished = true;
    stream.unpipe();
    stream.respond(
      {
        ":status": 200,
        "content-type": "application/grpc",
        "grpc-status": String(status.code),
        "grpc-message": encodeURIComponent(status.message.slice(0, maxMessageLength).toWellFormed()),
        "grpc-accept-encoding": ["identity", ...encodings].join(),
        ...this.metadata(),
        ...(retryAfterSeconds > 0 && { "grpc-status-details-bin": writeStatusDetails(status, retryAfterSeconds) }),
      },
      { endStream: true },
    );
    stream.close(constants.NGHTTP2_NO_ERROR);
  }

  private begin(): boolean {
    if (this.headersSent || this.stream.destroyed) return false;
    this.headersSent = true;
    const stalled = setTimeout(() => this.stream.destroy(), this.limits.answerMs);
    this.stream.once("close", () => clearTimeout(stalled));
    return true;
  }

  /** The answer's own headers, such as those of the month's limits. */
  private metadata(): Record<string, string> {
    return Object.fromEntries([...this.headers].filter(([name]) => name.startsWith("x-")));
  }
}

/** By the app's own router: guards, route and error handler as over HTTP. The message goes there as it arrives. */
export function answerCall(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  options: { router: Router; limits: CallLimits; refuse: ((response: Response) => void) | undefined },
): void {
  const { router, limits, refuse } = options;
  if (headers[":method"] !== "POST" || !/^application\/grpc(\+proto)?$/.test(headers["content-type"] ?? "")) {
    stream.respond({ ":status": 415 }, { endStream: true });
    stream.close(constants.NGHTTP2_NO_ERROR);
    return;
  }
  const message = new FramedMessage();
  const response = new CallResponse(message, stream, limits);
  const fail = (code: number, text: string) => response.fail({ code, message: text });
  const given = headers[":path"] ?? "";
  const url = Object.hasOwn(paths, given) ? paths[given] : undefined;
  if (!url) {
    fail(rpcCodes.unimplemented, "OTLP's services have the method Export alone");
    return;
  }
  const request = asRequest(message, { url, path: given, socket: stream, headers: headersOf(headers) });
  if (refuse) {
    refuse(response as unknown as Response);
    return;
  }
  const late = setTimeout(
    () => fail(rpcCodes.deadlineExceeded, "The message took too long to arrive"),
    limits.arrivalMs,
  );
  message.once("end", () => clearTimeout(late));
  message.on("error", (error) => fail(rpcCodes.invalidArgument, error.message));
  stream.once("close", () => {
    clearTimeout(late);
    if (!message.readableEnded) message.destroy(new Error("The client has left"));
  });
  message.once("head", ({ isCompressed, bytes }: MessageHead) => {
    const encoding = headers["grpc-encoding"];
    if (isCompressed && !(typeof encoding === "string" && encodings.includes(encoding)))
      return fail(rpcCodes.unimplemented, `A message may be compressed with ${encodings.join(" or ")}`);
    request.headers["content-length"] = String(bytes);
    if (isCompressed) request.headers["content-encoding"] = String(encoding);
    router(request, response as unknown as Response, (error?: unknown) => {
      fail(rpcCodes.internal, error ? "Internal server error" : "Not found");
    });
  });
  stream.pipe(message);
}

function headersOf(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { authorization, "x-request-id": requestId } = headers;
  return {
    "content-type": "application/x-protobuf",
    ...(authorization !== undefined && { authorization }),
    ...(requestId !== undefined && { "x-request-id": requestId }),
  };
}

function asRequest(
  message: FramedMessage,
  head: { url: string; path: string; socket: ServerHttp2Stream; headers: IncomingHttpHeaders },
): Request {
  return Object.assign(message, { ...head, method: "POST", query: {} }) as unknown as Request;
}

interface MessageHead {
  isCompressed: boolean;
  bytes: number;
}

const headBytes = 5;

/**
 * Takes the one message of a unary call out of its frame (gRPC over HTTP/2, "Length-Prefixed-Message"): a byte that tells
 * whether it is compressed, its length in four, its bytes. Emits `head` before the bytes, and an error for a call with more
 * or fewer bytes than it says.
 */
class FramedMessage extends Transform {
  private head = Buffer.alloc(0);
  private left: number | undefined;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const bytes = this.left === undefined ? this.readHead(chunk) : chunk;
    this.left = this.left === undefined ? undefined : this.left - bytes.length;
    if (this.left !== undefined && this.left < 0) done(new Error("The call has more than one message"));
    else done(null, bytes.length > 0 ? detach(bytes) : undefined);
  }

  override _flush(done: TransformCallback): void {
    done(this.left === 0 ? null : new Error("The call ended before its message"));
  }

  /** Collects the frame's head; returns the bytes after it. */
  private readHead(chunk: Buffer): Buffer {
    this.head = Buffer.concat([this.head, chunk]);
    if (this.head.length < headBytes) return Buffer.alloc(0);
    const head: MessageHead = { isCompressed: this.head[0] === 1, bytes: this.head.readUInt32BE(1) };
    this.left = head.bytes;
    this.emit("head", head);
    return this.head.subarray(headBytes);
  }
}

/** Copies a small part of what the connection has read: it would keep all of that, up to 64 KiB for a byte. */
function detach(bytes: Buffer): Buffer {
  return bytes.length * 4 < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
