// What a program with an SDK goes through while the service is in trouble: `pnpm bench faults` prints a table of both languages.
// Each program records 100,000 spans in 100 runs, works on for 1.2 s, and ends without a flush.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const folder = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const spans = 100_000;

const programs = {
  TypeScript: [
    process.execPath,
    "--input-type=module",
    "--eval",
    `import { createWaymark } from ${JSON.stringify(folder("client/dist/index.js"))};
let warnedAt, began;
const waymark = createWaymark({ onWarning: () => { warnedAt ??= performance.now(); }, onError: () => { warnedAt ??= performance.now(); } });
const costs = new Float64Array(${2 * spans + 200});
let calls = 0;
const timed = (call) => {
  const before = performance.now();
  const made = call();
  costs[calls++] = performance.now() - before;
  return made;
};
began = performance.now();
for (let n = 0; n < ${spans / 1000}; n++) {
  const trace = timed(() => waymark.startTrace({ agent_id: "a", name: "t" }));
  for (let i = 0; i < 999; i++) {
    const span = timed(() => trace.span("step", { input: { i } }));
    timed(() => span.end({ output: i }));
  }
  timed(() => trace.end());
  await new Promise((later) => setTimeout(later));
}
await new Promise((later) => setTimeout(later, 1200));
costs.sort();
const { rss } = process.memoryUsage();
console.log(JSON.stringify({ usual: costs[costs.length >> 1], most: costs[Math.floor(costs.length * 0.9999)], longest: costs.at(-1), warned: warnedAt === undefined ? null : warnedAt - began, queued: waymark.stats().queuedBytes, rss }));`,
  ],
  Python: [
    "python3",
    "-c",
    `import json, logging, resource, sys, time
sys.path.insert(0, ${JSON.stringify(folder("client-python"))})
import waymark
class Seen(logging.Handler):
    at = None
    def emit(self, record):
        Seen.at = Seen.at or time.perf_counter()
logging.getLogger("waymark").addHandler(Seen())
client = waymark.Waymark()
costs = []
def timed(call):
    before = time.perf_counter()
    made = call()
    costs.append((time.perf_counter() - before) * 1000)
    return made
began = time.perf_counter()
for n in range(${spans / 1000}):
    trace = timed(lambda: client.start_trace("a", "t"))
    for i in range(999):
        span = timed(lambda: trace.span("step", input={"i": i}))
        timed(lambda: span.end(output=i))
    timed(trace.end)
time.sleep(1.2)
costs.sort()
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"usual": costs[len(costs) // 2], "most": costs[int(len(costs) * 0.9999)], "longest": costs[-1], "warned": Seen.at and (Seen.at - began) * 1000, "queued": client.stats().queued_bytes, "rss": rss}), flush=True)`,
  ],
};

const server = createServer((request, response) => {
  const fault = request.url.split("/")[1];
  request.on("error", () => undefined);
  if (fault === "reset") request.socket.destroy();
  else if (fault === "429") response.writeHead(429, { "Retry-After": "3600" }).end('{"error":"slow down"}');
  else if (fault === "500") response.writeHead(500).end('{"error":"broken"}');
}).listen(0, "127.0.0.1");
await once(server, "listening");
const at = (path) => `http://127.0.0.1:${server.address().port}/${path}`;
const faults = {
  refused: "http://127.0.0.1:9",
  hanging: at("hang"),
  resetting: at("reset"),
  500: at("500"),
  "429 for an hour": at("429"),
  "DNS failing": "http://nowhere.invalid",
};

const rows = [];
for (const [sdk, [command, ...args]] of Object.entries(programs)) {
  for (const [fault, address] of Object.entries(faults)) {
    const env = { WAYMARK_TRACE_KEY: "wmk_trace_x", WAYMARK_TRACE_URL: address, PYTHONDONTWRITEBYTECODE: "1" };
    const program = spawn(command, args, { env, stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    let doneAt = 0;
    program.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      doneAt = performance.now();
    });
    const [code] = await once(program, "close");
    const { usual, most, longest, warned, queued, rss } = JSON.parse(said);
    rows.push({
      SDK: sdk,
      fault,
      "call, µs": Math.round(usual * 1000),
      "1 of 10,000, ms": Number(most.toFixed(2)),
      "longest, ms": Number(longest.toFixed(1)),
      "told after, ms": warned === null ? "at the end" : Math.round(warned),
      "end after, ms": Math.round(performance.now() - doneAt),
      "queue, MiB": Number((queued / 2 ** 20).toFixed(1)),
      "process, MiB": Math.round(rss / 2 ** 20),
      exit: code,
    });
  }
}
console.table(rows);
server.closeAllConnections();
server.close();
