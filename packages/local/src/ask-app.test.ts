import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, describe, expect, it } from "@jest/globals";
import { askApp } from "./ask-app.js";
import { anyFreePort } from "./ports.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function listen(port: number, answer: RequestListener): Promise<void> {
  const server = createServer(answer).listen(port, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
}

const { signal } = new AbortController();
const urlOf = (port: number) => `http://127.0.0.1:${port}/ready`;

describe("a request to an app", () => {
  it("waits for an app that restarts meanwhile, until it is ready", async () => {
    const port = await anyFreePort();
    const asked = askApp({ app: "trace-api", url: urlOf(port), signal });
    const statuses = [503, 503, 200];
    await listen(port, (_, response) => {
      response.statusCode = statuses.shift() ?? 500;
      response.end();
    });
    expect((await asked).status).toBe(200);
    expect(statuses).toEqual([]);
  });

  it("returns any other answer at once", async () => {
    const port = await anyFreePort();
    await listen(port, (_, response) => response.writeHead(400).end());
    expect((await askApp({ app: "trace-api", url: urlOf(port), signal, limitMs: 0 })).status).toBe(400);
  });

  it("names the app, the address and the cause when it gives up", async () => {
    const port = await anyFreePort();
    const asked = () => askApp({ app: "collector", url: urlOf(port), signal, limitMs: 0 });
    await expect(asked()).rejects.toThrow(
      `The collector did not become ready within 0 s, at ${urlOf(port)}: connect ECONNREFUSED 127.0.0.1:${port}`,
    );
    await listen(port, (_, response) => response.writeHead(503).end("database"));
    await expect(asked()).rejects.toThrow(`at ${urlOf(port)}: 503 database`);
  });

  it("ends at a stop", async () => {
    const stopping = new AbortController();
    const asked = askApp({ app: "worker", url: urlOf(await anyFreePort()), signal: stopping.signal });
    stopping.abort();
    await expect(asked).rejects.toThrow("aborted");
  });
});
