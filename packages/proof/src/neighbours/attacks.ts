import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { otlpOf } from "../fuzz/plan-costly.js";

/** What proves an account to the services. */
export interface Owner {
  traceKey: string;
  /** Many, since each has 60 requests a minute. */
  statisticsKeys: readonly string[];
  cookie: string;
}

/** The attacked service and what the attacker owns. */
export interface Target extends Owner {
  port: number;
  /** Traces to change; the first one takes spans. */
  traces: readonly string[];
  heavyTrace: string;
  /** A site of 6,000 long paths with goals of many stars. */
  pathsSite: string;
  /** Sites with large days that nobody has stored. */
  unstoredSites: readonly string[];
}

/** Receives the status of each answer, or how a connection ended without one. */
type Count = (status: string) => void;

export interface Attack {
  name: string;
  service: "trace-api" | "analytics-api" | "dashboard";
  run(target: Target, signal: AbortSignal, count: Count): Promise<void>;
}

export const attackConnections = 64;
const bodiesAtOnce = 150;
const streamsAtOnce = 1_200;

const mebibyte = 1_048_576;
const step = { name: "step", status: "ok", started_at: "2026-11-21T09:00:00.000Z" };
/** Almost 4 MiB, and of all texts that long one of the slowest to parse. */
const manyObjects = `[${"{},".repeat(1_300_000)}{}]`;

/** A request repeated on each connection. */
interface Repeated {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

const bearer = (key: string | undefined): Record<string, string> => ({ Authorization: `Bearer ${key}` });

/** The paths of the services, and what proves an account to them. */
export const services = {
  "trace-api": { base: "/api/v1", proofOf: ({ traceKey }: Owner) => bearer(traceKey) },
  "analytics-api": {
    base: "/api/v1",
    proofOf: ({ statisticsKeys }: Owner, turn: number) => bearer(statisticsKeys[turn % statisticsKeys.length]),
  },
  dashboard: { base: "/dashboard/api", proofOf: ({ cookie }: Owner) => ({ Cookie: cookie }) },
};

const ofTraces = (target: Target) => ({
  ...services["trace-api"].proofOf(target),
  "Content-Type": "application/json",
});

const writes: Readonly<Record<string, (target: Target) => Repeated | ((turn: number) => Repeated)>> = {
  "spans of 2 MiB": (target) => spansOf(target, "", JSON.stringify({ ...step, input: "x".repeat(2 * mebibyte) })),
  "batches of 1,000 spans": (target) =>
    spansOf(target, "/batch", JSON.stringify({ spans: Array.from({ length: 1_000 }, () => step) })),
  "batches with two members `spans`, one of 1.3 million elements": (target) =>
    spansOf(target, "/batch", `{"spans":[${"1,".repeat(1_300_000)}1],"spans":[]}`),
  "spans of 1.3 million objects": (target) =>
    gzipped(target, `/api/v1/traces/${target.traces[0]}/spans`, `{"name":"s","input":${manyObjects}}`),
  "OTLP, a value of 1.3 million objects": (target) =>
    gzipped(
      target,
      "/v1/traces",
      `{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"arrayValue":{"values":${manyObjects}}}}]}}]}`,
    ),
  "reads of 20 MiB": (target) => ({
    method: "GET",
    path: `/api/v1/traces/${target.heavyTrace}`,
    headers: ofTraces(target),
  }),
  "OTLP, resource of 1 MiB and 4,000 spans": (target) => gzipped(target, "/v1/traces", otlpOf(4_000, mebibyte)),
  "OTLP, 20,000 traces": (target) => gzipped(target, "/v1/traces", otlpOf(20_000, 100)),
};

/** Of one trace after another: a trace takes 100,000 spans. */
function spansOf(target: Target, kind: "" | "/batch", json: string): (turn: number) => Repeated {
  const each = { method: "POST", headers: ofTraces(target), body: Buffer.from(json) };
  return (turn) => ({ ...each, path: `/api/v1/traces/${target.traces[turn % target.traces.length]}/spans${kind}` });
}

/** It compresses well. */
function gzipped(target: Target, path: string, json: string): Repeated {
  return { method: "POST", path, headers: { ...ofTraces(target), "Content-Encoding": "gzip" }, body: gzipSync(json) };
}

/** Ten filters of 50 texts that no path contains, and that it takes a search long to miss. */
function missingParts(): string {
  const texts = (filter: number) => Array.from({ length: 50 }, (_, n) => `${filter}${(n + 10).toString(36)}aaaaaaaa`);
  return Array.from({ length: 10 }, (_, filter) => `page:contains:${texts(filter).join("|")}`).join(";");
}

const queries: Readonly<Record<string, (target: Target, turn: number) => { site: string; query: string }>> = {
  "500 substrings over 6,000 paths": ({ pathsSite }) => ({
    site: pathsSite,
    query: `stats?range=today&filters=${encodeURIComponent(missingParts())}`,
  }),
  "100 goals of 900 stars": ({ pathsSite }) => ({ site: pathsSite, query: "goals?range=today" }),
  "filters over three unstored days": ({ unstoredSites }, turn) => ({
    site: unstoredSites[turn % unstoredSites.length] ?? "",
    query: `stats?range=today&filters=${encodeURIComponent("page:contains:a;prop.kind:isNot:b")}`,
  }),
};

const readAttacks = Object.entries(queries).flatMap(([name, ask]) =>
  (["dashboard", "analytics-api"] as const).map((service): Attack => {
    const { base, proofOf } = services[service];
    return {
      name,
      service,
      run: (target, signal, count) =>
        repeat(target, signal, count, (turn) => {
          const { site, query } = ask(target, turn);
          return { method: "GET", path: `${base}/sites/${site}/${query}`, headers: proofOf(target, turn) };
        }),
    };
  }),
);

export const attacks: readonly Attack[] = [
  ...Object.entries(writes).map(
    ([name, make]): Attack => ({
      name,
      service: "trace-api",
      run: (target, signal, count) => {
        const each = make(target);
        return repeat(target, signal, count, typeof each === "function" ? each : () => each);
      },
    }),
  ),
  {
    name: "reads of 20 MiB that are never read",
    service: "trace-api",
    run: (target, signal, count) => {
      const head = `GET /api/v1/traces/${target.heavyTrace} HTTP/1.1\r\n`;
      return holdOpen(target, { head, body: "", connections: attackConnections }, signal, count);
    },
  },
  {
    name: `${bodiesAtOnce} bodies of 4 MiB that never end`,
    service: "trace-api",
    run: (target, signal, count) => {
      const length = 4 * mebibyte - 1;
      const head = `POST /api/v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n`;
      return holdOpen(target, { head, body: "x".repeat(length - 1), connections: bodiesAtOnce }, signal, count);
    },
  },
  {
    name: `${streamsAtOnce.toLocaleString("en")} filtered streams that are never read, and changes of status`,
    service: "trace-api",
    run: async (target, signal, count) => {
      const head = "GET /api/v1/traces/stream?status=error,running HTTP/1.1\r\n";
      const ignore = () => undefined;
      await Promise.all([
        holdOpen(target, { head, body: "", connections: streamsAtOnce }, signal, ignore),
        repeat(target, signal, count, (turn) => ({
          method: "PATCH",
          path: `/api/v1/traces/${target.traces[turn % target.traces.length]}`,
          headers: ofTraces(target),
          body: Buffer.from(
            JSON.stringify({ status: Math.floor(turn / target.traces.length) % 2 ? "error" : "running" }),
          ),
        })),
      ]);
    },
  },
  ...readAttacks,
];

/** Repeats requests on each connection; after a refusal it pauses. @param next a request by its number */
async function repeat(
  { port }: Target,
  signal: AbortSignal,
  count: Count,
  next: (turn: number) => Repeated,
): Promise<void> {
  let turn = 0;
  const once = () =>
    new Promise<number>((resolve, reject) => {
      const { method, path, headers, body } = next(turn++);
      const length = { "Content-Length": body?.length ?? 0 };
      const sent = request({ host: "127.0.0.1", port, method, path, headers: { ...headers, ...length }, signal });
      sent.on("response", (answer) => {
        answer.resume();
        answer.on("close", () => resolve(answer.statusCode ?? 0));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  await Promise.all(
    Array.from({ length: attackConnections }, async () => {
      while (!signal.aborted) {
        const status = await once().catch((error: NodeJS.ErrnoException) => error.code ?? "failed");
        if (signal.aborted) return;
        count(String(status));
        if (typeof status !== "number" || status >= 400) await wait(20);
      }
    }),
  );
}

/** Opens connections that send the beginning of a request, then neither read nor write; reopens cut ones. */
async function holdOpen(
  { port, traceKey }: Target,
  { head, body, connections }: { head: string; body: string; connections: number },
  signal: AbortSignal,
  count: Count,
): Promise<void> {
  const open = () =>
    new Promise<void>((resolve) => {
      const socket: Socket = connect(port, "127.0.0.1");
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
      socket.write(`${head}Host: bench\r\nAuthorization: Bearer ${traceKey}\r\n\r\n${body}`);
      socket.pause();
    });
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (!signal.aborted) {
        await open();
        if (signal.aborted) return;
        count("cut");
        await wait(100);
      }
    }),
  );
}
