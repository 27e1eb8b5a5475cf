import { request } from "node:http";
import { describe, expect, it } from "@jest/globals";
import { type Listening, listen } from "./listen.js";
import { createRegistry } from "./metrics.js";
import { openOperationsServer } from "./operations-server.js";

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

  it("cuts what still runs after the time", async () => {
    const server = await open(0, false, () => undefined);
    const stuck = get(server).catch((error: NodeJS.ErrnoException) => error.code);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.stop(50);
    expect(await stuck).toBe("ECONNRESET");
  });
});

describe("openOperationsServer", () => {
  it("answers metrics, health and readiness, and 503 naming the required store that fails", async () => {
    let isDatabaseUp = true;
    const server = await openOperationsServer({
      registry: createRegistry("test"),
      checks: {
        required: { database: () => (isDatabaseUp ? Promise.resolve() : Promise.reject(new Error("down"))) },
        bridged: { queue: () => Promise.reject(new Error("down")) },
      },
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
