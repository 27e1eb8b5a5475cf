import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "./free-port.js";

export interface Pooler {
  /** The server's URL, by way of the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts pgbouncer in front of a Postgres, also for roles made later. It makes the folder, which others must reach. */
export async function startPooler(server: URL, mode: "session" | "transaction", folder: string): Promise<Pooler> {
  const port = await freePort();
  const user = decodeURIComponent(server.username);
  await mkdir(folder);
  // It does not run as root, so another user reads its files.
  await chmod(folder, 0o755);
  await writeFile(join(folder, "users"), `"${user}" "${decodeURIComponent(server.password)}"\n`);
  const file = join(folder, "pgbouncer.ini");
  await writeFile(file, settings({ server, port, user, mode, folder }));
  const asUser = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const pooler = spawn("pgbouncer", [...asUser, "-q", file], { stdio: ["ignore", "ignore", "inherit"] });
  await answers(pooler, port);
  const url = new URL(server);
  url.port = String(port);
  return {
    url: url.href,
    async stop() {
      pooler.kill("SIGKILL");
      if (pooler.exitCode === null && pooler.signalCode === null) await once(pooler, "exit");
    },
  };
}

function settings(of: {
  server: URL;
  port: number;
  user: string;
  mode: "session" | "transaction";
  folder: string;
}): string {
  return `[databases]
* = host=127.0.0.1 port=${of.server.port} auth_user=${of.user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${of.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(of.folder, "users")}
auth_query = SELECT rolname, rolpassword FROM pg_authid WHERE rolname = $1
pool_mode = ${of.mode}
admin_users = ${of.user}
max_client_conn = 1000
default_pool_size = 60
server_idle_timeout = 5
log_connections = 0
log_disconnections = 0
`;
}

async function answers(pooler: ChildProcess, port: number): Promise<void> {
  const failed = once(pooler, "error").then(([error]) => Promise.reject(error));
  failed.catch(() => undefined);
  while (!(await Promise.race([accepts(port), failed]))) {
    if (pooler.exitCode !== null) throw new Error("pgbouncer ended; it wrote why above.");
    await wait(20);
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
