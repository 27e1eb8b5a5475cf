import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Undo } from "./undo.js";

/** A Redis of its own; a killed one starts again, empty, on its port. */
export interface RedisServer {
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
  empty(): Promise<void>;
}

/**
 * Starts Redis as in production: a full one refuses writes instead of dropping jobs.
 * @returns undefined on a machine without `redis-server`
 */
export async function startRedis(port: number, folder: string, undo: Undo): Promise<RedisServer | undefined> {
  if (spawnSync("redis-server", ["--version"]).status !== 0) return undefined;
  const address = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const settings = ["--save", "", "--appendonly", "no", "--maxmemory", "64mb", "--maxmemory-policy", "noeviction"];
  let isStopping = false;
  let child: ChildProcess;
  const launch = () => {
    child = spawn("redis-server", [...address, ...settings], { stdio: "ignore", detached: true });
    child.once("exit", async () => {
      await wait(500);
      if (!isStopping) launch();
    });
    return child;
  };
  undo(async () => {
    isStopping = true;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  launch();
  while ((await ask(port, "PING").catch(() => "")) !== "+PONG") await wait(20);
  return {
    port,
    signal: (signal) => void child.kill(signal),
    empty: async () => void (await ask(port, "FLUSHALL")),
  };
}

async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    socket.write(`${command}\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    return answer.toString().trim();
  } finally {
    socket.destroy();
  }
}
