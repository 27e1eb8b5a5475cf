import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { connectionLimits } from "./connections.js";
import { type Listening, type ListenOptions, listen } from "./listen.js";
import { createRegistry } from "./metrics.js";
import { openOperationsServer, readiness } from "./operations-server.js";

const open = (
  port: number,
  orAnyPort = false,
  handler: Parameters<typeof listen>[0]["handler"] = (_request, response) => response.end("ok"),
) => listen({ handler, host: "127.0.0.1", port, portVariable: "SOME_PORT", orAnyPort });

function get(server: Listening, path = "/"): Promise<{ status?: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: server.port, path }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("end", () => resolve({ status: response.statusCode, text }));
    })
      .on("error", reject)
      .end();
  });
}

describe("listen", () => {
  it("names the port that is taken and the variable that chooses another", async () => {
    const first = await open(0);
    await expect(open(first.port)).rejects.toThrow(
      `127.0.0.1:${first.port} is taken by another process. Set SOME_PORT to another port.`,
    );
    const other = await open(first.port, true);
    expect(other.port).not.toBe(first.port);
    await Promise.all([first.stop(0), other.stop(0)]);
  });

  it("lets a request in hand finish when it stops, and takes no other", async () => {
    let release = () => {};
    const server = await open(0, false, (_request, response) => {
      release = () => response.end("late");
    });
    const inHand = get(server);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const stopped = server.stop(5_000);
    await expect(get(server)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    release();
    expect(await inHand).toEqual({ status: 200, text: "late" });
    await stopped;
  });

  it("hands over a request that was sent before the last answer once that is out, and never where the client left", async () => {
    const begun: string[] = [];
    let answer = () => {};
    const server = await open(0, false, (request, response) => {
      begun.push(request.url ?? "");
      answer = () => response.end(request.url);
    });
    const requests = ["/1", "/2", "/3"].map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join("");
    const socket = connect(server.port, "127.0.0.1");
    const nextAnswer = () => new Promise<string>((resolve) => socket.once("data", (data) => resolve(data.toString())));
    socket.write(requests);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(begun).toEqual(["/1"]);
    const first = nextAnswer();
    answer();
    expect(await first).toContain("/1");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(begun).toEqual(["/1", "/2"]);
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    answer();
    expect(begun).toEqual(["/1", "/2"]);
    await server.stop(0);
  });

  it("cuts what still runs after the time", async () => {
    const server = await open(0, false, () => undefined);
    const stuck = get(server).catch((error: NodeJS.ErrnoException) => error.code);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.stop(50);
    expect(await stuck).toBe("ECONNRESET");
  });
});

/** A client's connection on the level of bytes; it notes the bytes received and a reset. */
function dial(server: Listening) {
  const socket = connect({ host: "127.0.0.1", port: server.port });
  const state = { text: "", isReset: false };
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("data", (chunk: Buffer) => {
    state.text += chunk.toString("latin1");
  });
  socket.on("error", () => {
    state.isReset = true;
  });
  clients.push(socket);
  const until = async (pattern: RegExp) => {
    for (let i = 0; i < 1_000 && !pattern.test(state.text); i++) await pause(10);
    expect(state.text).toMatch(pattern);
  };
  return { socket, state, closed, until };
}

const clients: Socket[] = [];
const servers: Listening[] = [];
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await Promise.all(servers.splice(0).map((server) => server.stop(0)));
});

/** A server with its own limits and metrics; it answers a request once its body is there. */
async function openWith(
  limits: NonNullable<ListenOptions["limits"]>,
  handler: ListenOptions["handler"] = (incoming, response) => {
    incoming.resume().on("end", () => response.end("ok"));
  },
) {
  const registry = createRegistry("test");
  const server = await listen({ handler, host: "127.0.0.1", port: 0, portVariable: "PORT", registry, limits });
  servers.push(server);
  const valuesOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? [];
  return {
    server,
    /** How many connections were cut for a reason. */
    async count(reason: string) {
      const values = await valuesOf("waymark_connections_cut_total");
      return values.find(({ labels }) => labels["reason"] === reason)?.value ?? 0;
    },
    async untilOpen(connections: number) {
      const isOpen = async () => (await valuesOf("waymark_connections"))[0]?.value === connections;
      for (let i = 0; i < 1_000 && !(await isOpen()); i++) await pause(10);
      expect(await isOpen()).toBe(true);
    },
  };
}

const get1 = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const post = (length: number) => `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n`;

describe("a client that takes its time", () => {
  it("has 30 seconds for a request and 60 without progress for an answer", () => {
    expect(connectionLimits).toMatchObject({ requestTimeoutMs: 30_000, stallTimeoutMs: 60_000, maxConnections: 4_000 });
    expect(connectionLimits.headersTimeoutMs).toBeLessThan(connectionLimits.requestTimeoutMs);
  });

  it("gets 408 for a request that is not whole in time, and its connection is closed", async () => {
    const { server, count } = await openWith({ requestTimeoutMs: 300, headersTimeoutMs: 300, checkIntervalMs: 20 });
    const [body, head] = [dial(server), dial(server)];
    body.socket.write(`${post(100)}half`);
    head.socket.write("POST / HTTP/1.1\r\nHo");
    for (const { state, closed } of [body, head]) {
      await closed;
      expect(state.text).toMatch(/^HTTP\/1.1 408 .*"The request took too long to arrive"\}$/s);
      expect(state.text).toContain("\r\nX-Content-Type-Options: nosniff\r\n");
    }
    expect(await count("slow_request")).toBe(2);
    expect((await get(server)).status).toBe(200);
  });

  it("is not cut while its body arrives in time, however long the head's limit is over", async () => {
    const { server } = await openWith({ headersTimeoutMs: 400, checkIntervalMs: 20 });
    const client = dial(server);
    client.socket.write(post(8));
    for (let i = 0; i < 8; i++) {
      await pause(100);
      client.socket.write("x");
    }
    await client.until(/^HTTP\/1.1 200 .*ok/s);
    expect(client.state.isReset).toBe(false);
  });

  it("is cut when it takes nothing of its answer in time", async () => {
    const bytes = 64 * 1_048_576;
    const { server, count } = await openWith({ stallTimeoutMs: 300 }, (_request, response) => {
      response.end(Buffer.alloc(bytes));
    });
    const client = dial(server);
    client.socket.pause();
    client.socket.write(get1);
    for (let i = 0; i < 1_000 && (await count("stalled_answer")) === 0; i++) await pause(10);
    expect(await count("stalled_answer")).toBe(1);
    client.socket.resume();
    await client.closed;
    expect(client.state.text.length).toBeLessThan(bytes);
  });

  it("gets the whole answer as long as it takes some of it now and then", async () => {
    const bytes = 24 * 1_048_576;
    const { server } = await openWith({ stallTimeoutMs: 2_000 }, (_request, response) => {
      response.end(Buffer.alloc(bytes));
    });
    const client = dial(server);
    let taken = 0;
    client.socket.on("data", (chunk: Buffer) => {
      taken += chunk.length;
      client.socket.pause();
      // About three seconds in all: longer than the limit.
      setTimeout(() => client.socket.resume(), (chunk.length / bytes) * 3_000);
    });
    client.socket.write(get1);
    for (let i = 0; i < 20_000 && taken < bytes; i++) await pause(10);
    expect(taken).toBeGreaterThan(bytes);
  });
});

describe("many connections", () => {
  it("are closed above the maximum, and counted", async () => {
    const { server, count, untilOpen } = await openWith({ maxConnections: 4 });
    const within = Array.from({ length: 4 }, () => dial(server));
    for (const { socket } of within) socket.write(post(1));
    await untilOpen(4);
    const above = dial(server);
    above.socket.write(get1);
    await above.closed;
    expect(above.state.text).toBe("");
    expect(await count("too_many")).toBe(1);
    for (const { socket, closed, state } of within) {
      socket.write("x");
      await closed;
      expect(state.text).toMatch(/^HTTP\/1.1 200/);
      if (socket === within[1]?.socket) break;
    }
    const next = dial(server);
    next.socket.write(get1);
    await next.until(/ok/);
  });

  it("are kept idle only up to half of the maximum", async () => {
    const { server, untilOpen } = await openWith({ maxConnections: 4 });
    const [one, two] = [dial(server), dial(server), dial(server)];
    await untilOpen(3);
    one?.socket.write(get1);
    await one?.closed;
    expect(one?.state.text).toMatch(/\r\nConnection: close\r\n.*ok/s);
    two?.socket.write(get1);
    await two?.until(/ok/);
    expect(two?.state.text).toContain("\r\nConnection: keep-alive\r\n");
  });
});

describe("a server that stops", () => {
  it("answers the next request on a connection that is kept alive, and closes it then", async () => {
    const { server } = await openWith({});
    const client = dial(server);
    client.socket.write(get1);
    await client.until(/ok/);
    const stopped = server.stop(10_000);
    await expect(get(server)).rejects.toThrow(/ECONNREFUSED/);
    client.socket.write(`${post(1)}x`);
    await client.closed;
    expect(client.state.text.match(/HTTP\/1.1 200/g)).toHaveLength(2);
    expect(client.state.text).toMatch(/Connection: keep-alive.*Connection: close/s);
    expect(client.state.isReset).toBe(false);
    await stopped;
  });

  it("closes a connection on which nothing happens, without a reset", async () => {
    const { server } = await openWith({ stopIdleMs: 100 });
    const client = dial(server);
    client.socket.write(get1);
    await client.until(/ok/);
    await server.stop(10_000);
    await client.closed;
    expect(client.state.isReset).toBe(false);
  });

  it("lets a client read an answer to the end that it began before", async () => {
    const bytes = 16 * 1_048_576;
    const { server } = await openWith({ stopIdleMs: 50 }, (_request, response) => response.end(Buffer.alloc(bytes)));
    const client = dial(server);
    client.socket.write(get1);
    await client.until(/^HTTP/);
    client.socket.pause();
    const stopped = server.stop(10_000);
    await pause(500);
    client.socket.resume();
    await client.closed;
    expect(client.state.text.length).toBeGreaterThan(bytes);
    await stopped;
  });

  it("does not reset a client that is answered before its body has arrived", async () => {
    const { server } = await openWith({ stopIdleMs: 200 }, (_request, response) => {
      response.statusCode = 401;
      response.end("no");
    });
    const client = dial(server);
    client.socket.write(post(4));
    await client.until(/no$/);
    const stopped = server.stop(10_000);
    client.socket.write(`body${post(4)}`);
    await client.until(/no.*no$/s);
    client.socket.write("body");
    await client.closed;
    expect(client.state.isReset).toBe(false);
    await stopped;
  });
});

describe("every answer", () => {
  it("forbids to guess its type and to frame it, also what the parser refuses, unless a handler has its own policy", async () => {
    const { server } = await openWith({}, (incoming, response) => {
      if (incoming.url === "/own") response.setHeader("Content-Security-Policy", "default-src 'self'");
      response.writeHead(200, { "Content-Type": "text/plain" }).end();
    });
    const headersOf = async (text: string) => {
      const client = dial(server);
      client.socket.write(text);
      await client.until(/\r\n\r\n/);
      return client.state.text;
    };
    for (const text of [get1, "nonsense\r\n\r\n", get1.replace("Host", "Expect: magic\r\nHost")]) {
      const head = await headersOf(text);
      expect(head).toContain("\r\nX-Content-Type-Options: nosniff\r\n");
      expect(head).toContain("\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n");
    }
    expect(await headersOf(get1.replace("/", "/own"))).toContain("Content-Security-Policy: default-src 'self'\r\n");
  });
});

describe("openOperationsServer", () => {
  it("answers metrics, health and readiness, and 503 naming the required store that fails", async () => {
    let isDatabaseUp = true;
    const server = await openOperationsServer({
      metrics: () => createRegistry("test").metrics(),
      ready: () =>
        readiness({
          required: { database: () => (isDatabaseUp ? Promise.resolve() : Promise.reject(new Error("down"))) },
          bridged: { queue: () => Promise.reject(new Error("down")) },
        }),
      host: "127.0.0.1",
      port: 0,
      portVariable: "METRICS_PORT",
      isPortChosen: true,
    });
    expect((await get(server, "/metrics")).text).toContain('process_cpu_seconds_total{service="test"}');
    expect(await get(server, "/health?x=1")).toEqual({ status: 200, text: '{"status":"ok"}' });
    expect(await get(server, "/ready")).toEqual({
      status: 200,
      text: '{"status":"ok","checks":{"database":"ok","queue":"failed"}}',
    });
    isDatabaseUp = false;
    expect(await get(server, "/ready")).toEqual({
      status: 503,
      text: '{"error":"Not ready: database","checks":{"database":"failed","queue":"failed"}}',
    });
    expect(await get(server, "/other")).toEqual({ status: 404, text: '{"error":"Not found"}' });
    await server.stop(0);
  });
});
