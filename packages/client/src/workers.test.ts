import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "@jest/globals";
import { built } from "@waymark/testing";

const dist = fileURLToPath(built(new URL("../dist/", import.meta.url)));

/** Every second visit tells its runtime to go on for the SDK; the others end while their requests are on their way. */
const worker = `import { createWaymark } from "./client/index.js";
let waymark;
export default {
  async fetch(request, env, context) {
    const warnings = (globalThis.warnings ??= []);
    waymark ??= createWaymark({ key: "wmk_trace_x", url: env.SERVICE, attemptTimeoutMs: 1_000, onWarning: (text) => warnings.push(text) });
    const { pathname } = new URL(request.url);
    if (pathname === "/end") {
      const isWhole = await waymark.flush();
      return Response.json({ isWhole, warnings, ...waymark.stats() });
    }
    await waymark.trace({ agent_id: "worker", name: pathname }, (span) => span.run("step", () => 1));
    if (Number(pathname.slice(1)) % 2 === 0) context.waitUntil(waymark.flush());
    return new Response("ok");
  },
};
`;

it("a thousand visits of a Cloudflare worker leave nothing stuck, with and without waitUntil", async () => {
  const folder = await mkdtemp(join(tmpdir(), "waymark-workerd-"));
  const service = createServer(async (request, response) => {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const spans = body.spans?.map((_: unknown, index: number) => `${index}`);
    // Late enough that a visit without waitUntil is over.
    setTimeout(() => response.end(JSON.stringify({ trace_id: "t", span_ids: spans, ok: true })), 5);
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  const names = (await readdir(dist)).filter((name) => name.endsWith(".js"));
  const modules = names.map((name) => `(name = "client/${name}", esModule = embed "client/${name}")`);
  await cp(dist, join(folder, "client"), { recursive: true });
  await writeFile(join(folder, "worker.js"), worker);
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  await writeFile(
    join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "worker.js"), ${modules.join(", ")}],
      compatibilityDate = "2026-01-01",
      bindings = [(name = "SERVICE", text = "${url}")],
      globalOutbound = "net")),
    (name = "net", network = (allow = ["private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]);`,
  );
  const args = ["serve", join(folder, "config.capnp"), "--control-fd=3"];
  const workerd = createRequire(import.meta.url)("workerd");
  const child = spawn(workerd.default, args, { stdio: ["ignore", "inherit", "inherit", "pipe"] });
  try {
    const [told] = await Promise.race([
      once(child.stdio[3] as NodeJS.ReadableStream, "data"),
      once(child, "exit").then(([code]) => Promise.reject(new Error(`workerd ended with ${code}`))),
    ]);
    const { port } = JSON.parse(String(told).split("\n")[0] ?? "");
    const visit = (path: string) => fetch(`http://127.0.0.1:${port}/${path}`);
    for (let first = 0; first < 1_000; first += 20)
      await Promise.all(Array.from({ length: 20 }, (_, n) => visit(`${first + n}`).then((answer) => answer.text())));
    let state = { isWhole: false, queued: 1, sent: { traces: 0 }, lost: { traces: 0 } };
    for (let visits = 0; state.queued > 0 && visits < 10; visits++)
      state = (await (await visit("end")).json()) as typeof state;
    expect(state).toMatchObject({ queued: 0, queuedBytes: 0 });
    expect(state.sent.traces + state.lost.traces).toBe(1_000);
    expect(state).toMatchObject({ lost: { traces: 0, spans: 0 }, sent: { spans: 2_000 } });
  } finally {
    child.kill();
    service.closeAllConnections();
    service.close();
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);
