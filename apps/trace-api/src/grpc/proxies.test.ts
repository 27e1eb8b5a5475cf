import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import grpc from "@grpc/grpc-js";
import { afterAll, expect, it } from "@jest/globals";
import { describeWithProgram, freePort } from "@waymark/testing";
import { useApp } from "../app.fixture.js";
import { call, keyOf, useGrpc } from "./grpc.fixture.js";

const readDocker = (name: string) => readFileSync(new URL(`../../../../docker/${name}`, import.meta.url), "utf8");
const test = useApp();
const open = useGrpc(test);
const folder = mkdtempSync(join(tmpdir(), "waymark-proxy-"));
const running: ChildProcess[] = [];
afterAll(async () => {
  for (const child of running) {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }
  rmSync(folder, { recursive: true });
});

async function start(program: string, port: number, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: "ignore", env: { HOME: folder } });
  running.push(child);
  const accepts = () =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  while (!(await accepts())) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Stores a large message through a proxy, and gets the errors of a wrong key and of a message over the limit. */
async function expectCalls(port: number): Promise<void> {
  const account = await test.makeAccount("pro");
  const span = (name: string) => {
    const ids = { traceId: Buffer.alloc(16, 1), spanId: Buffer.alloc(8, 1) };
    return { resourceSpans: [{ scopeSpans: [{ spans: [{ ...ids, name, startTimeUnixNano: 1 }] }] }] };
  };
  for (const isCompressed of [false, true])
    expect(await call(port, "traces", span("x".repeat(3_000_000)), { ...keyOf(account), isCompressed })).toEqual({});
  await account.get("/api/v1/traces").expect(200, /"name":"x{1000}"/);
  await expect(call(port, "traces", span("run"))).rejects.toMatchObject({
    code: grpc.status.UNAUTHENTICATED,
    details: "Invalid API key",
  });
  await expect(call(port, "traces", span("x".repeat(5_000_000)), keyOf(account))).rejects.toMatchObject({
    code: grpc.status.INVALID_ARGUMENT,
    details: "Body too large",
  });
}

describeWithProgram("nginx", "docker/nginx.conf", (nginx) => {
  it("leads OTLP over gRPC to its port", async () => {
    const [{ port: own }, port] = [await open(), await freePort()];
    const conf = readDocker("nginx.conf")
      .replaceAll(/listen \[::\]:80;/g, "")
      .replaceAll("listen 80;", `listen 127.0.0.1:${port} http2;`)
      .replaceAll("server_name traces.example.com", `server_name 127.0.0.1`)
      .replaceAll("127.0.0.1:4317", `127.0.0.1:${own}`);
    const file = join(folder, "nginx.conf");
    const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((it) => `${it}_temp_path ${folder}/${it};`);
    writeFileSync(
      file,
      `daemon off; pid ${folder}/nginx.pid; events {} http { access_log off; ${temp.join(" ")}\n${conf}\n}`,
    );
    await start(nginx, port, ["-c", file, "-p", folder, "-e", join(folder, "error.log")]);
    await expectCalls(port);
  });
});

describeWithProgram("caddy", "docker/Caddyfile", (caddy) => {
  it("leads OTLP over gRPC to its port", async () => {
    const [{ port: own }, port] = [await open(), await freePort()];
    const block = /\n\treverse_proxy \/opentelemetry[\s\S]*?\n\t}\n/.exec(readDocker("Caddyfile"))?.[0] ?? "";
    const upstream = block.replace(/dynamic a {[\s\S]*?}/, `to 127.0.0.1:${own}`);
    const file = join(folder, "Caddyfile");
    writeFileSync(
      file,
      `{\n\tadmin off\n\tauto_https off\n\tservers {\n\t\tprotocols h1 h2 h2c\n\t}\n}\nhttp://:${port} {${upstream}}\n`,
    );
    await start(caddy, port, ["run", "--adapter", "caddyfile", "--config", file]);
    await expectCalls(port);
  });
});
