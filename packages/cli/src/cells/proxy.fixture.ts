import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";

/** A file of `docker/`. */
export function readDocker(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../../docker/${name}`, import.meta.url)), "utf8");
}

interface ProxyAnswer {
  status: number | undefined;
  body: string;
}

/** Asks a proxy at a socket. */
export async function ask(
  socketPath: string,
  { path = "/", body, ...options }: { path?: string; headers: Record<string, string>; method?: string; body?: string },
): Promise<ProxyAnswer> {
  const sent = request({ socketPath, path, ...options }).end(body);
  const [response] = await once(sent, "response");
  return { status: response.statusCode, body: await text(response) };
}

/** Lets a test file start proxies, each with a folder and a socket of its own; they stop after its tests. */
export function useProxies() {
  const running: { child: ChildProcess; folder: string }[] = [];
  afterAll(async () => {
    for (const { child, folder } of running) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** @param argsIn makes the program's arguments, after it wrote the configuration */
  return async (program: string, argsIn: (folder: string, socket: string) => string[]): Promise<string> => {
    const folder = mkdtempSync(`${tmpdir()}/proxy-`);
    const socket = `${folder}/proxy.sock`;
    const args = argsIn(folder, socket);
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"], env: { HOME: folder } });
    running.push({ child, folder });
    const said = child.stderr ? text(child.stderr) : "";
    while (!(await accepts(socket))) {
      if (child.exitCode !== null) throw new Error(`${program} ended: ${await said}`);
      await setTimeout(10);
    }
    return socket;
  };
}

/** A socket is there before its program listens. */
async function accepts(path: string): Promise<boolean> {
  const socket = connect(path);
  const isOpen = await once(socket, "connect").then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

/** A configuration around the `http` block's lines, in one process, with all files in a folder. */
export function nginxFile(folder: string, lines: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events {}
http {
access_log off;
${temporary.join("\n")}
${lines}
}
`;
}
