import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, it } from "@jest/globals";
import { type Listening, listen } from "@waymark/service";
import { describeWithProgram, freePort } from "@waymark/testing";
import { nginxFile, readDocker, useProxies } from "./proxy.fixture.js";

const startProxy = useProxies();

async function send(socketPath: string, host: string, method = "GET", path = "/") {
  const sent = request({ socketPath, path, method, headers: { Host: host } }).end(method === "POST" ? "{}" : undefined);
  const [response] = await once(sent, "response");
  const { statusCode: status, headers } = response;
  await text(response);
  return { status, type: headers["content-type"], retryAfter: headers["retry-after"] };
}

describeWithProgram("nginx", "docker/nginx.conf", (nginx) => {
  /** The proxy with two instances of the trace API, counted by number and method, and none of the other services. */
  const start = async (answer: (by: number, end: () => void, cut: () => void) => void) => {
    const ports = [await freePort(), await freePort()];
    const taken: string[] = [];
    const open = (by: number): Promise<Listening> =>
      listen({
        host: "127.0.0.1",
        port: ports[by] ?? 0,
        portVariable: "TRACE_API_PORT",
        handler(asked, response) {
          taken.push(`${by} ${asked.method}`);
          asked.resume().on("end", () =>
            answer(
              by,
              () => response.end("{}"),
              () => response.destroy(),
            ),
          );
        },
      });
    const instances = [await open(0), await open(1)] as const;
    const closed = await freePort();
    const socket = await startProxy(nginx, (folder, path) => {
      const lines = readDocker("nginx.conf")
        .replaceAll(/listen \[::\]:80;/g, "")
        .replaceAll("listen 80;", `listen unix:${path};`)
        .replace("127.0.0.1:4100", `127.0.0.1:${ports[0]}`)
        .replace("127.0.0.1:4110", `127.0.0.1:${ports[1]}`)
        .replaceAll(/127\.0\.0\.1:4\d\d\d/g, `127.0.0.1:${closed}`);
      writeFileSync(`${folder}/nginx.conf`, nginxFile(folder, lines));
      return ["-c", `${folder}/nginx.conf`, "-e", `${folder}/error.log`];
    });
    return { instances, open, taken, ask: send.bind(undefined, socket) };
  };

  it("fails no request while each instance stops and starts again under load, and sends none twice", async () => {
    const { instances, open, taken, ask } = await start((_by, end) => void setTimeout(end, 5));
    let isOver = false;
    const statuses: unknown[] = [];
    const client = async (method: string) => {
      while (!isOver) statuses.push((await ask("traces.example.com", method)).status);
    };
    const clients = ["GET", "POST", "POST", "PATCH", "PATCH", "DELETE"].map(client);
    const running = [...instances];
    for (const by of [0, 1]) {
      await running[by]?.stop(5_000);
      await new Promise((resolve) => setTimeout(resolve, 300));
      running[by] = await open(by);
      const others = taken.length;
      // nginx asks it again after two to three seconds.
      while (!taken.slice(others).some((line) => line.startsWith(`${by} `)))
        await new Promise((r) => setTimeout(r, 50));
    }
    isOver = true;
    await Promise.all(clients);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(taken).toHaveLength(statuses.length);
    await Promise.all(running.map((each) => each.stop(0)));
  });

  it("repeats a GET that an instance dropped, and answers 503 to a POST instead", async () => {
    const { instances, taken, ask } = await start((by, end, cut) => (by === 0 ? cut() : end()));
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push((await ask("traces.example.com", "GET")).status);
    expect(answers).toEqual([200, 200, 200, 200]);
    expect(taken).toContain("0 GET");
    await instances[1].stop(0);
    await new Promise((resolve) => setTimeout(resolve, 3_100));
    taken.length = 0;
    expect(await ask("traces.example.com", "POST")).toMatchObject({ status: 503, retryAfter: "5" });
    expect(taken).toEqual(["0 POST"]);
    await instances[0].stop(0);
  });

  it("answers 503 with Retry-After without an instance: JSON, or a page of the dashboard", async () => {
    const { instances, ask } = await start((_by, end) => end());
    await Promise.all(instances.map((each) => each.stop(0)));
    const json = { status: 503, type: "application/json; charset=utf-8", retryAfter: "5" };
    expect(await ask("traces.example.com", "POST", "/api/v1/traces")).toEqual(json);
    expect(await ask("stats.example.com", "GET", "/api/v1/sites")).toEqual(json);
    expect(await ask("collect.example.com", "POST", "/api/event")).toEqual(json);
    expect(await ask("waymark.example.com", "GET", "/dashboard/api/me")).toEqual(json);
    const page = { ...json, type: "text/html; charset=utf-8" };
    expect(await ask("waymark.example.com", "GET", "/dashboard/sign-in")).toEqual(page);
  });
});
