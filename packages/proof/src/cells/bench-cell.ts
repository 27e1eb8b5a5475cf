import { execFile, execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createAccount, issueKey } from "@waymark/accounts";
import { prepareDatabase } from "@waymark/cli";
import { createPool } from "@waymark/database";
import { createPrisma } from "@waymark/database/prisma";
import { startApp, startEmbeddedPostgres } from "@waymark/local";

export interface BenchCell {
  /** Writes traces with their spans for a time. @returns the acknowledged spans a second */
  write(seconds: number): Promise<number>;
  stop(): Promise<void>;
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const client = fileURLToPath(new URL("write-traces.js", import.meta.url));

/** A Postgres, a trace-api and a client, all on one core. */
export async function startBenchCell(folder: string, core: number): Promise<BenchCell> {
  const postgres = await startEmbeddedPostgres({ folder: join(folder, "postgres") });
  const [postmaster = ""] = (await readFile(join(folder, "postgres/data/postmaster.pid"), "utf8")).split("\n");
  pin(postmaster, core);
  const databaseUrl = postgres.connectionString;
  await prepareDatabase(databaseUrl, undefined);
  const pool = createPool({
    connectionString: databaseUrl,
    ...{ maxConnections: 1, applicationName: "cells", statementTimeoutMs: 0 },
  });
  const { id: accountId } = await createAccount(createPrisma(pool), { email: "a@cells.example.com", plan: "pro" });
  const { key } = await issueKey(pool, { accountId, service: "trace", name: "cells" });
  await pool.end();
  const app = startApp({
    name: "trace-api",
    entry: join(root, "apps/trace-api/dist/main.js"),
    nodeFlags: [],
    env: {
      DATABASE_URL: databaseUrl,
      TRACE_API_PORT: "0",
      TRACE_API_METRICS_PORT: "0",
      TRACE_RATE_LIMIT_PER_SECOND: "0",
    },
    cwd: root,
    logFile: join(folder, "trace-api.log"),
    say: () => undefined,
  });
  const url = `http://127.0.0.1:${await app.ready}`;
  pin(String(app.identity.pid), core);
  return {
    async write(seconds) {
      const args = ["-c", String(core), process.execPath, client, url, key, String(seconds)];
      const { stdout } = await promisify(execFile)("taskset", args);
      return Number(stdout);
    },
    async stop() {
      await app.stop();
      await postgres.stop();
    },
  };
}

/** Moves a process with its threads to a core; processes that it starts from now on inherit it. */
function pin(pid: string, core: number): void {
  execFileSync("taskset", ["-acp", String(core), pid], { stdio: "ignore" });
}
