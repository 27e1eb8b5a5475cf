import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { watched } from "./watched.js";

const program = `
import { createServer } from "node:http";
const server = createServer((request, response) => {
  const usedMs = () => process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000;
  const until = usedMs() + Number(request.url.slice(1));
  while (usedMs() < until);
  response.writeHead(request.headers.authorization === "none" ? 401 : 200).end("ok");
});
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send(server.address().port));
process.once("disconnect", () => process.exit());`;

describe("a watched attack", () => {
  const file = join(mkdtempSync(join(tmpdir(), "watched-")), "server.mjs");
  let end = () => {};
  let url = "";
  let pid = 0;
  beforeAll(async () => {
    writeFileSync(file, program);
    const child = fork(file, { execArgv: [] });
    const [port] = (await once(child, "message")) as [number];
    url = `http://127.0.0.1:${port}/`;
    pid = child.pid ?? 0;
    end = () => child.disconnect();
  });
  afterAll(() => end());
  const hold = (ms: number) => async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return (await fetch(`${url}${ms}`)).status;
  };

  it("gives its result when the watcher is served meanwhile", async () => {
    expect(await watched({ url, pid }, hold(50))).toBe(200);
  });

  it("fails when the service is held for long", async () => {
    await expect(watched({ url, pid }, hold(2_000))).rejects.toThrow(
      /^Of \d+ requests of the watcher .* longer than the control$/,
    );
  });

  it("fails when the watcher is not served", async () => {
    const headers = { Authorization: "none" };
    await expect(watched({ url, pid, headers }, hold(1))).rejects.toThrow(/some failed: 401/);
    await expect(watched({ url: "http://127.0.0.1:1/", pid }, hold(1))).rejects.toThrow(/some failed: ECONNREFUSED/);
  });
});
