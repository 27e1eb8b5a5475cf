import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";

/** The service, a key, a trace to write to and one of 20 MiB to read. */
export interface Target {
  port: number;
  key: string;
  trace: string;
  heavyTrace: string;
}

export const attackConnections = 64;

const mebibyte = 1_048_576;
const startedAt = "2026-11-21T09:00:00.000Z";

/** A request repeated on each connection. */
interface Repeated {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

const json = { "Content-Type": "application/json" };

const repeated: Readonly<Record<string, (target: Target) => Repeated>> = {
  "spans of 2 MiB": ({ trace }) => ({
    method: "POST",
    path: `/api/v1/traces/${trace}/spans`,
    headers: json,
    body: Buffer.from(
      JSON.stringify({ name: "large", status: "ok", started_at: startedAt, input: "x".repeat(2 * mebibyte) }),
    ),
  }),
  "batches of 1,000 spans": ({ trace }) => ({
    method: "POST",
    path: `/api/v1/traces/${trace}/spans/batch`,
    headers: json,
    body: Buffer.from(
      JSON.stringify({
        spans: Array.from({ length: 1_000 }, () => ({ name: "step", status: "ok", started_at: startedAt })),
      }),
    ),
  }),
  "reads of 20 MiB": ({ heavyTrace }) => ({ method: "GET", path: `/api/v1/traces/${heavyTrace}`, headers: {} }),
  "OTLP, resource of 1 MiB and 4,000 spans": () => ({
    method: "POST",
    path: "/v1/traces",
    headers: { ...json, "Content-Encoding": "gzip" },
    body: otlpBomb(mebibyte, 4_000),
  }),
  "OTLP, 20,000 traces": () => ({
    method: "POST",
    path: "/v1/traces",
    headers: { ...json, "Content-Encoding": "gzip" },
    body: otlpBomb(100, 20_000),
  }),
};

/** An OTLP request with a large resource, or many traces of one span; it compresses well. */
function otlpBomb(resourceBytes: number, spans: number): Buffer {
  const nanos = "1795251600000000000";
  const body = {
    resourceSpans: [
      {
        resource: { attributes: [{ key: "blob", value: { stringValue: "x".repeat(resourceBytes) } }] },
        scopeSpans: [
          {
            spans: Array.from({ length: spans }, (_, n) => ({
              traceId: (n + 1).toString(16).padStart(32, "0"),
              spanId: "00000000000000ff",
              name: "s",
              startTimeUnixNano: nanos,
              endTimeUnixNano: nanos,
            })),
          },
        ],
      },
    ],
  };
  return gzipSync(JSON.stringify(body));
}

/** The attacks by name. Each runs until its signal aborts and counts the statuses of its answers. */
export const attacks: Readonly<Record<string, (target: Target, signal: AbortSignal, count: Count) => Promise<void>>> = {
  ...Object.fromEntries(
    Object.entries(repeated).map(([name, make]) => [
      name,
      (target: Target, signal: AbortSignal, count: Count) => repeat(target, make(target), signal, count),
    ]),
  ),
  "reads of 20 MiB that are never read": (target, signal, count) =>
    holdOpen(target, `GET /api/v1/traces/${target.heavyTrace} HTTP/1.1\r\n`, "", signal, count),
  "bodies of 4 MiB that never end": (target, signal, count) => {
    const length = 4 * mebibyte - 1;
    const head = `POST /api/v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`;
    return holdOpen(target, head, "x".repeat(length - 1), signal, count);
  },
};

/** Receives the status of each answer, or the end of a connection without one. */
export type Count = (status: string) => void;

/** Repeats a request on each connection; after a refusal it pauses. */
async function repeat({ port, key }: Target, each: Repeated, signal: AbortSignal, count: Count): Promise<void> {
  const once = () =>
    new Promise<number>((resolve, reject) => {
      const headers = { ...each.headers, Authorization: `Bearer ${key}`, "Content-Length": each.body?.length ?? 0 };
      const sent = request({ host: "127.0.0.1", port, method: each.method, path: each.path, headers, signal });
      sent.on("response", (answer) => {
        answer.resume();
        answer.on("close", () => resolve(answer.statusCode ?? 0));
      });
      sent.on("error", reject);
      sent.end(each.body);
    });
  await Promise.all(
    Array.from({ length: attackConnections }, async () => {
      while (!signal.aborted) {
        const status = await once().catch((error: NodeJS.ErrnoException) => error.code ?? "failed");
        if (signal.aborted) return;
        count(String(status));
        if (typeof status !== "number" || status >= 400) await setTimeout(20);
      }
    }),
  );
}

/** Opens connections that send the beginning of a request, then neither read nor write; reopens cut ones. */
async function holdOpen(
  { port, key }: Target,
  head: string,
  body: string,
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  const open = () =>
    new Promise<void>((resolve) => {
      const socket: Socket = connect(port, "127.0.0.1");
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
      socket.write(`${head}Host: bench\r\nAuthorization: Bearer ${key}\r\n\r\n${body}`);
      socket.pause();
    });
  await Promise.all(
    Array.from({ length: attackConnections }, async () => {
      while (!signal.aborted) {
        await open();
        if (signal.aborted) return;
        count("cut");
        await setTimeout(20);
      }
    }),
  );
}
