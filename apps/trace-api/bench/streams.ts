import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { cpus } from "node:os";
import { setTimeout } from "node:timers/promises";
import { cpuMicrosOf, cpuMicrosOfTree, memoryOf } from "./cpu.js";
import { row } from "./find.js";
import type { Stage, Subject } from "./measure.js";

/** Listeners of each part: one shows the cost without sharing. */
const parts = [1, 20] as const;
const tracesPerPart = 200;
const pauseMs = 50;
/** Streams that connect at once. */
const opening = 50;

interface Part {
  listeners: number;
  beforeBytes: number;
  highestBytes: number;
  nodeMicros: number;
  postgresMicros: number;
  events: number;
}

/** Opens live streams of one account, creates traces one after another, and waits until each stream told each trace. */
export async function streams(stage: Stage, { process: service }: Subject): Promise<string> {
  const account = stage.accounts[0];
  if (!account) throw new Error("No account");
  const measured: Part[] = [];
  // Compiles code and fills caches, so that the first part does not pay for them.
  await measurePart(stage, service, account.key, 1);
  for (const listeners of parts) measured.push(await measurePart(stage, service, account.key, listeners));
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  return `${[
    `Live streams of one account while ${tracesPerPart} traces come, one each ${pauseMs} ms or slower; each stream told each trace once. Megabytes at most, milliseconds of CPU.`,
    `${new Date().toISOString()}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}.`,
    "",
    row("listeners", "events", "MB before", "MB after", "Node ms", "SQL ms"),
    ...measured.map((part) =>
      row(
        part.listeners.toLocaleString("en"),
        part.events.toLocaleString("en"),
        megabytes(part.beforeBytes),
        megabytes(part.highestBytes),
        (part.nodeMicros / 1_000).toFixed(0),
        (part.postgresMicros / 1_000).toFixed(0),
      ),
    ),
  ].join("\n")}\n`;
}

async function measurePart(stage: Stage, service: Subject["process"], key: string, listeners: number): Promise<Part> {
  const beforeBytes = memoryOf(service.pid).now;
  const opened: Stream[] = [];
  while (opened.length < listeners) {
    const count = Math.min(opening, listeners - opened.length);
    opened.push(...(await Promise.all(Array.from({ length: count }, () => openStream(service.port, key)))));
  }
  let highestBytes = 0;
  const [nodeBefore, postgresBefore] = [cpuMicrosOf(service.pid), cpuMicrosOfTree(stage.postmasterPid)];
  const sample = () => {
    highestBytes = Math.max(highestBytes, memoryOf(service.pid).now);
  };
  for (let n = 0; n < tracesPerPart; n++) {
    await createTrace(service.port, key);
    sample();
    await setTimeout(pauseMs);
  }
  while (opened.some(({ events }) => events() < tracesPerPart)) {
    if (opened.some(({ socket }) => socket.destroyed)) throw new Error("A stream ended");
    sample();
    await setTimeout(100);
  }
  const part = {
    nodeMicros: cpuMicrosOf(service.pid) - nodeBefore,
    postgresMicros: cpuMicrosOfTree(stage.postmasterPid) - postgresBefore,
    events: opened.reduce((sum, { events }) => sum + events(), 0),
  };
  for (const { socket } of opened) socket.destroy();
  if (part.events !== listeners * tracesPerPart) throw new Error("A stream told a trace twice");
  return { listeners, beforeBytes, highestBytes, ...part };
}

interface Stream {
  socket: Socket;
  events(): number;
}

/** By hand, since a thousand clients of a library would use more CPU than the service. */
async function openStream(port: number, key: string): Promise<Stream> {
  const socket = connect(port, "127.0.0.1");
  let events = 0;
  let rest = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    const whole = rest + text;
    events += whole.split("event: trace\n").length - 1;
    // What may be the beginning of one more.
    rest = whole.slice(Math.max(whole.lastIndexOf("\n") + 1, whole.length - 12));
  });
  socket.on("error", () => undefined);
  socket.write(`GET /api/v1/traces/stream HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, "data");
  return { socket, events: () => events };
}

async function createTrace(port: number, key: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/traces`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: JSON.stringify({ agent_id: "a", name: "n", status: "running", started_at: new Date().toISOString() }),
  });
  if (response.status !== 201) throw new Error(`A create got ${response.status}: ${await response.text()}`);
  await response.arrayBuffer();
}
