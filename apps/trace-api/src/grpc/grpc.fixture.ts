import { connect, constants, type Settings } from "node:http2";
import grpc from "@grpc/grpc-js";
import { afterAll } from "@jest/globals";
import { createLogger, type FurtherServer } from "@waymark/service";
import { createRefusals } from "@waymark/service/http";
import { freePort } from "@waymark/testing";
import { loadOtlpMessages, type Signal } from "@waymark/traces/otlp";
import type { TestAccount, TestApp } from "../app.fixture.js";
import { type GrpcOptions, openGrpc } from "./open-grpc.js";

const services = {
  traces: "opentelemetry.proto.collector.trace.v1.TraceService",
  logs: "opentelemetry.proto.collector.logs.v1.LogsService",
  metrics: "opentelemetry.proto.collector.metrics.v1.MetricsService",
} as const satisfies Record<Signal, string>;

const pathOf = (signal: Signal, method = "Export") => `/${services[signal]}/${method}`;

const messages = {
  traces: loadOtlpMessages("traces"),
  logs: loadOtlpMessages("logs"),
  metrics: loadOtlpMessages("metrics"),
};

export function encode(signal: Signal, request: object): Buffer {
  const { request: type } = messages[signal];
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

/** Opens servers for gRPC on the app under test; they end with the test file. */
export function useGrpc(test: TestApp) {
  const servers: FurtherServer[] = [];
  afterAll(async () => {
    for (const server of servers) await server.stop(0);
  });
  return async (changes: Partial<GrpcOptions> = {}) => {
    const port = await freePort();
    const server = await openGrpc({
      host: "127.0.0.1",
      port,
      isPortChosen: true,
      tls: undefined,
      router: test.app.router,
      refusals: createRefusals(test.registry),
      partOf: (amount) => amount,
      log: createLogger({ service: "trace-api", level: "silent" }),
      ...changes,
    });
    if (!server) throw new Error("gRPC is off");
    servers.push(server);
    return { port, server };
  };
}

interface CallOptions {
  authorization?: string | undefined;
  method?: string;
  isCompressed?: boolean;
  credentials?: grpc.ChannelCredentials;
}

/** Makes one call with the client of gRPC's authors, on a connection of its own. */
export function call(port: number, signal: Signal, request: object | Buffer, options: CallOptions = {}) {
  const { authorization, method, isCompressed, credentials = grpc.credentials.createInsecure() } = options;
  const client = new grpc.Client(`127.0.0.1:${port}`, credentials, {
    "grpc.enable_retries": 0,
    ...(isCompressed && { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip }),
  });
  const metadata = new grpc.Metadata();
  if (authorization) metadata.set("authorization", authorization);
  const { response } = messages[signal];
  const write = (value: object | Buffer) => (Buffer.isBuffer(value) ? value : encode(signal, value));
  const read = (value: Buffer) => response.toObject(response.decode(value), { longs: Number });
  return new Promise<Record<string, unknown>>((resolve, reject) => {
    client.makeUnaryRequest(pathOf(signal, method), write, read, request, metadata, (error, value) => {
      client.close();
      if (error) reject(error);
      else resolve(value ?? {});
    });
  });
}

export const keyOf = ({ key }: Pick<TestAccount, "key">) => ({ authorization: `Bearer ${key}` });

/** A raw connection, for calls that no client of gRPC makes. */
export function openRaw(port: number, settings: Settings = {}) {
  const session = connect(`http://127.0.0.1:${port}`, { settings });
  session.on("error", () => undefined);
  const begin = (headers: Record<string, string>) => {
    const stream = session.request({
      ":method": "POST",
      ":path": pathOf("traces"),
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    stream.on("error", () => undefined);
    /** The status of the call, from its head or its trailers; undefined where the server ended it without one. */
    const status = new Promise<string | undefined>((resolve) => {
      const read = (given: Record<string, unknown>) => {
        if (given["grpc-status"] !== undefined) resolve(String(given["grpc-status"]));
      };
      stream
        .once("response", read)
        .once("trailers", read)
        .once("close", () => resolve(undefined));
    });
    stream.resume();
    return { stream, status, leave: () => stream.close(constants.NGHTTP2_CANCEL) };
  };
  return { session, begin };
}

/** A message in its frame. */
export function frame(message: Buffer, isCompressed = false, bytes = message.length): Buffer {
  const head = Buffer.alloc(5);
  head[0] = isCompressed ? 1 : 0;
  head.writeUInt32BE(bytes, 1);
  return Buffer.concat([head, message]);
}
