import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { built } from "@waymark/testing";

/** A program that records a run and a stray trace, waits for their ends as the impatient do, and then just ends. */
const program = `
import { createWaymark } from ${JSON.stringify(built(new URL("../dist/index.js", import.meta.url)).href)};
const waymark = createWaymark();
const began = performance.now();
const trace = waymark.startTrace({ agent_id: "a", name: "Impatient" });
for (let n = 0; n < 100; n++) trace.span("step", { input: { n } }).end({ output: n });
await trace.end("success");
const result = await waymark.trace({ agent_id: "a", name: "b" }, (span) => span.run("inner", () => 7));
const tookMs = performance.now() - began;
// As a program with work of its own: the first attempt may fail meanwhile.
await new Promise((resolve) => setTimeout(resolve, 300));
console.log(JSON.stringify({ result, tookMs }));
`;

let server: Server;
beforeAll(async () => {
  server = createServer((request, response) => {
    const fault = request.url?.split("/")[1];
    if (fault === "reset") request.socket.destroy();
    else if (fault === "429") response.writeHead(429, { "Retry-After": "3600" }).end('{"error":"slow down"}');
    else if (fault === "500") response.writeHead(500).end('{"error":"broken"}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const at = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`;

describe("a program whose service", () => {
  it.each([
    ["refuses connections", () => "http://127.0.0.1:9", /no records arrive; they wait: .*ECONNREFUSED/],
    ["never answers", () => at("hang"), /it was not sent within 2000 ms before the end/],
    ["breaks connections", () => at("reset"), /no records arrive; they wait: .*socket hang up/],
    ["answers 500", () => at("500"), /no records arrive at .*; they wait: 500 broken/],
    ["asks to wait for an hour", () => at("429"), /could not be recorded at .*\("Impatient", "b"\): 429 slow down/],
    ["has no address", () => "http://nowhere.invalid", /no records arrive; they wait: .*(ENOTFOUND|EAI_AGAIN)/],
  ])(
    "%s goes on at once, ends soon, and is told why",
    async (_, address, warning) => {
      const env = { WAYMARK_TRACE_KEY: "wmk_trace_x", WAYMARK_TRACE_URL: address() };
      const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { env });
      const said = text(child.stderr);
      const [line] = await once(createInterface(child.stdout), "line");
      const doneAt = performance.now();
      const [code] = await once(child, "exit");
      // 2 s by the SDK's own clock; a machine may be busy.
      expect(performance.now() - doneAt).toBeLessThan(8_000);
      expect(code).toBe(0);
      const { result, tookMs } = JSON.parse(line);
      expect(result).toBe(7);
      expect(tookMs).toBeLessThan(1_000);
      const warnings = await said;
      expect(warnings).toMatch(warning);
      expect(warnings).toMatch(
        /2 traces and 102 spans could not be recorded|1 traces and \d+ spans could not be recorded/,
      );
    },
    60_000,
  );
});
