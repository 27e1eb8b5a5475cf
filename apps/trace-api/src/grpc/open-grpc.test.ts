import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import grpc from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-grpc";
import { LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import { issueKey } from "@waymark/accounts";
import { readStatus } from "@waymark/traces/otlp";
import { useApp } from "../app.fixture.js";
import { call, encode, frame, keyOf, openRaw, useGrpc } from "./grpc.fixture.js";

const bytes = (hex: string) => Buffer.from(hex, "hex");
const ids = { traceId: bytes("1".repeat(32)), spanId: bytes("2".repeat(16)) };
const span = (changes: object = {}) => ({
  resourceSpans: [
    { scopeSpans: [{ spans: [{ ...ids, name: "run", startTimeUnixNano: 1_780_315_200_000_000_000, ...changes }] }] },
  ],
});
const status = (code: number, details: string) => expect.objectContaining({ code, details });

describe("OTLP over gRPC", () => {
  const test = useApp({ bodyLimitBytes: 100_000 });
  const open = useGrpc(test);
  let port = 0;
  beforeAll(async () => {
    ({ port } = await open());
  });

  it.each([false, true])("stores spans and completes them from log records, compressed: %s", async (isCompressed) => {
    const account = await test.makeAccount("pro");
    const how = { ...keyOf(account), isCompressed };
    expect(await call(port, "traces", span(), how)).toEqual({});
    const body = { kvlistValue: { values: [{ key: "content", value: { stringValue: "Hello" } }] } };
    const record = { ...ids, timeUnixNano: 1, eventName: "gen_ai.user.message", body };
    const logs = { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] };
    expect(await call(port, "logs", logs, how)).toEqual({});
    const listed = await account.get("/api/v1/traces").expect(200);
    const read = await account.get(`/api/v1/traces/${listed.body.traces[0].id}`).expect(200);
    expect(read.body.spans).toMatchObject([{ name: "run", input: [{ role: "user", content: "Hello" }] }]);
  });

  it("takes what OpenTelemetry's exporter of log records sends", async () => {
    const account = await test.makeAccount("pro");
    await call(port, "traces", span(), keyOf(account));
    const metadata = new grpc.Metadata();
    metadata.set("authorization", keyOf(account).authorization);
    const exporter = new OTLPLogExporter({ url: `http://127.0.0.1:${port}`, metadata });
    const provider = new LoggerProvider({ processors: [new SimpleLogRecordProcessor({ exporter })] });
    const named = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 };
    const context = trace.setSpanContext(ROOT_CONTEXT, named);
    provider.getLogger("agent").emit({ eventName: "gen_ai.user.message", body: { content: "Hello" }, context });
    await provider.shutdown();
    const listed = await account.get("/api/v1/traces").expect(200);
    const read = await account.get(`/api/v1/traces/${listed.body.traces[0].id}`).expect(200);
    expect(read.body.spans).toMatchObject([{ name: "run", input: [{ role: "user", content: "Hello" }] }]);
  });

  it("says in partial_success what is refused, as HTTP does", async () => {
    const account = await test.makeAccount("pro");
    const points = { resourceMetrics: [{ scopeMetrics: [{ metrics: [{ sum: { dataPoints: [{}] } }] }] }] };
    expect(await call(port, "metrics", points, keyOf(account))).toEqual({
      partialSuccess: { rejectedDataPoints: 1, errorMessage: expect.stringContaining("Metrics are not kept") },
    });
    const invalid = { ...span().resourceSpans[0]?.scopeSpans[0]?.spans[0], spanId: bytes("00") };
    const mixed = span();
    mixed.resourceSpans[0]?.scopeSpans[0]?.spans.push(invalid as never);
    expect(await call(port, "traces", mixed, keyOf(account))).toMatchObject({ partialSuccess: { rejectedSpans: 1 } });
  });

  it.each([undefined, "Bearer wmk_trace_nobody", "nonsense"])("is UNAUTHENTICATED with the key %s", async (key) => {
    const refused = call(port, "traces", span(), { authorization: key });
    await expect(refused).rejects.toEqual(status(grpc.status.UNAUTHENTICATED, "Invalid API key"));
  });

  it("is PERMISSION_DENIED for a key that may only read", async () => {
    const { id: accountId } = await test.makeAccount("pro");
    const key = await issueKey(test.pool, { accountId, service: "trace", name: "reader", scope: "read" });
    await expect(call(port, "traces", span(), keyOf(key))).rejects.toMatchObject({
      code: grpc.status.PERMISSION_DENIED,
    });
  });

  it("is RESOURCE_EXHAUSTED with RetryInfo above 256 calls in hand of a key, which count with HTTP's", async () => {
    const account = await test.makeAccount("pro");
    const raw = Array.from({ length: 6 }, () => openRaw(port));
    const held = raw.flatMap(({ begin }) => Array.from({ length: 45 }, () => begin(keyOf(account))));
    for (const { stream } of held) stream.write(frame(Buffer.alloc(3), false, 10));
    expect(await Promise.race(held.map((each) => each.status))).toBe(String(grpc.status.RESOURCE_EXHAUSTED));
    const refused = await call(port, "traces", span(), keyOf(account)).catch((error: grpc.ServiceError) => error);
    const message = "Too much in progress for this account";
    expect(refused).toEqual(status(grpc.status.RESOURCE_EXHAUSTED, message));
    const [details] = (refused as grpc.ServiceError).metadata.get("grpc-status-details-bin");
    expect(readStatus(details as Buffer)).toEqual({ code: 8, message });
    const retryInfo = Buffer.from("type.googleapis.com/google.rpc.RetryInfo").toString("hex");
    // A pause of a second, in protobuf.
    expect((details as Buffer).toString("hex")).toMatch(new RegExp(`${retryInfo}12040a020801$`));
    await account.post("/v1/metrics", {}).expect(429);
    for (const { leave } of held) leave();
    while ((await account.post("/v1/metrics", {})).status === 429);
    for (const { session } of raw) session.destroy();
  });

  it("is UNAVAILABLE with RetryInfo where the database is away", async () => {
    const account = await test.makeAccount("pro");
    const held = await test.hold("LOCK TABLE trace");
    const refused = await call(port, "traces", span(), keyOf(account)).catch((error: grpc.ServiceError) => error);
    expect(refused).toEqual(status(grpc.status.UNAVAILABLE, "Service temporarily unavailable"));
    expect((refused as grpc.ServiceError).metadata.get("grpc-status-details-bin")).toHaveLength(1);
    await held.rollback();
    expect(await call(port, "traces", span(), keyOf(account))).toEqual({});
  });

  it("is INVALID_ARGUMENT for a message that is no request, and UNIMPLEMENTED for another method", async () => {
    const account = await test.makeAccount("pro");
    await expect(call(port, "traces", Buffer.from([255, 255]), keyOf(account))).rejects.toEqual(
      status(grpc.status.INVALID_ARGUMENT, "The body is not an ExportTraceServiceRequest in protobuf"),
    );
    for (const method of ["Import", "__proto__"]) {
      await expect(call(port, "traces", span(), { ...keyOf(account), method })).rejects.toMatchObject({
        code: grpc.status.UNIMPLEMENTED,
      });
    }
  });

  it("takes a message of the limit of bodies, and refuses a byte more, also by what it inflates to", async () => {
    const account = await test.makeAccount("pro");
    const ofBytes = (wanted: number) => {
      const rest = encode("traces", span({ name: "x".repeat(50_000) })).length - 50_000;
      return encode("traces", span({ name: "x".repeat(wanted - rest) }));
    };
    expect(ofBytes(100_000)).toHaveLength(100_000);
    const tooLarge = status(grpc.status.INVALID_ARGUMENT, "Body too large");
    for (const isCompressed of [false, true]) {
      const how = { ...keyOf(account), isCompressed };
      expect(await call(port, "traces", ofBytes(100_000), how)).toEqual({});
      await expect(call(port, "traces", ofBytes(100_001), how)).rejects.toEqual(tooLarge);
    }
  });

  it.each([
    ["no message", Buffer.alloc(0)],
    ["half a frame", Buffer.alloc(3)],
    ["less than its frame says", frame(Buffer.alloc(3), false, 4)],
    ["two messages", Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))])],
    ["bytes that are no gzip", frame(Buffer.alloc(30, 1), true)],
  ])("is INVALID_ARGUMENT for a call of %s", async (_name, sent) => {
    const account = await test.makeAccount("pro");
    const { session, begin } = openRaw(port);
    const { stream, status: answer } = begin({ ...keyOf(account), "grpc-encoding": "gzip" });
    stream.end(sent);
    expect(await answer).toBe(String(grpc.status.INVALID_ARGUMENT));
    session.destroy();
  });

  it("is UNIMPLEMENTED for a compression that it does not know", async () => {
    const { session, begin } = openRaw(port);
    const { stream, status: answer } = begin({ "grpc-encoding": "zstd" });
    stream.end(frame(Buffer.alloc(3), true));
    expect(await answer).toBe(String(grpc.status.UNIMPLEMENTED));
    session.destroy();
  });

  it("survives a client that speaks no HTTP/2", async () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined).resume();
    socket.end("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    const account = await test.makeAccount("pro");
    expect(await call(port, "traces", span(), keyOf(account))).toEqual({});
  });

  it("lets calls in hand finish when it stops, and takes no more", async () => {
    const { port: own, server } = await open();
    const account = await test.makeAccount("pro");
    const held = await test.hold("LOCK TABLE span IN EXCLUSIVE MODE");
    const answer = call(own, "traces", span(), keyOf(account));
    await test.untilLockWaits();
    const stopped = server.stop(10_000);
    await held.commit();
    expect(await answer).toEqual({});
    await stopped;
    await expect(call(own, "traces", span(), keyOf(account))).rejects.toMatchObject({
      code: grpc.status.UNAVAILABLE,
    });
  });

  it("cuts calls in hand after the time", async () => {
    const { port: own, server } = await open();
    const account = await test.makeAccount("pro");
    const { begin } = openRaw(own);
    const { stream, status: answer } = begin(keyOf(account));
    stream.write(frame(Buffer.alloc(3), false, 10));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.stop(100);
    expect(await answer).toBeUndefined();
  });
});

describe("OTLP over gRPC with TLS", () => {
  const test = useApp();
  const open = useGrpc(test);
  const folder = mkdtempSync(join(tmpdir(), "waymark-grpc-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const tls = { certFile: join(folder, "cert.pem"), keyFile: join(folder, "key.pem") };

  it("speaks it with a certificate and its key, and nothing else then", async () => {
    const made = spawnSync("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...["-keyout", tls.keyFile, "-out", tls.certFile, "-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"],
    ]);
    expect(made.status).toBe(0);
    const { port } = await open({ tls });
    const account = await test.makeAccount("pro");
    const credentials = grpc.credentials.createSsl(readFileSync(tls.certFile));
    expect(await call(port, "traces", span(), { ...keyOf(account), credentials })).toEqual({});
    await expect(call(port, "traces", span(), keyOf(account))).rejects.toMatchObject({ code: grpc.status.UNAVAILABLE });
  });

  it("names the variable of a file that cannot be read", async () => {
    const missing = { certFile: join(folder, "none"), keyFile: join(folder, "none") };
    await expect(open({ tls: missing })).rejects.toThrow("OTLP_GRPC_CERT names a file that cannot be read: ENOENT");
  });
});

describe("the port of OTLP over gRPC", () => {
  const test = useApp();
  const open = useGrpc(test);

  it("is an error where it is taken and was chosen, and else off", async () => {
    const { port } = await open();
    await expect(open({ port })).rejects.toThrow("Set OTLP_GRPC_PORT to another port.");
    await expect(open({ port, isPortChosen: false })).rejects.toThrow("gRPC is off");
    await expect(open({ port: 0 })).rejects.toThrow("gRPC is off");
  });
});
